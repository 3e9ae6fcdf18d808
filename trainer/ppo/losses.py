"""PPO's two losses (Schulman et al. 2017, eq. 7; value clipping as in the code of Ziegler et al. 2019). Pure functions.

Shapes: B responses, R response positions. Each returns (loss, metrics): sums over the masked tokens divided by `tokens`,
the count of the whole minibatch, so that micro-batches add up to the minibatch's loss and metrics however it is split.
"""

import torch
from torch import Tensor

from trainer.masking import masked_sum

Metrics = dict[str, Tensor]


def policy_loss(
    logprobs_BR: Tensor,
    old_logprobs_BR: Tensor,
    advantages_BR: Tensor,
    mask_BR: Tensor,
    clip_range: float,
    tokens: int | Tensor,
) -> tuple[Tensor, Metrics]:
    """Mean over tokens of max(−A·ρ, −A·clip(ρ, 1 − ε, 1 + ε)), ρ = π/π_old.

    Metrics: `approxkl` is ½(log ρ)² (k2, Schulman 2020), `clipfrac` the share of tokens where the clipped term was larger.
    """
    log_ratio_BR = torch.where(mask_BR, logprobs_BR - old_logprobs_BR, torch.zeros_like(logprobs_BR))
    ratio_BR = log_ratio_BR.exp()
    unclipped_BR = -advantages_BR * ratio_BR
    clipped_BR = -advantages_BR * ratio_BR.clamp(1 - clip_range, 1 + clip_range)
    loss = masked_sum(torch.maximum(unclipped_BR, clipped_BR), mask_BR) / tokens
    with torch.no_grad():
        metrics = {
            "policy_loss": loss.detach(),
            "approxkl": masked_sum(0.5 * log_ratio_BR**2, mask_BR) / tokens,
            "clipfrac": masked_sum((clipped_BR > unclipped_BR).float(), mask_BR) / tokens,
            "ratio": masked_sum(ratio_BR, mask_BR) / tokens,
        }
    return loss, metrics


def value_loss(
    values_BR: Tensor,
    old_values_BR: Tensor,
    returns_BR: Tensor,
    mask_BR: Tensor,
    clip_range: float | None,
    tokens: int | Tensor,
) -> tuple[Tensor, Metrics]:
    """½ mean over tokens of max((V − R)², (V_clip − R)²), V_clip within `clip_range` of the old value; unclipped for None."""
    errors_BR = (values_BR - returns_BR) ** 2
    if clip_range is None:
        loss = 0.5 * masked_sum(errors_BR, mask_BR) / tokens
        return loss, {"value_loss": loss.detach(), "value_clipfrac": torch.zeros_like(loss.detach())}
    clipped_BR = old_values_BR + (values_BR - old_values_BR).clamp(-clip_range, clip_range)
    clipped_errors_BR = (clipped_BR - returns_BR) ** 2
    loss = 0.5 * masked_sum(torch.maximum(errors_BR, clipped_errors_BR), mask_BR) / tokens
    with torch.no_grad():
        clipfrac = masked_sum((clipped_errors_BR > errors_BR).float(), mask_BR) / tokens
    return loss, {"value_loss": loss.detach(), "value_clipfrac": clipfrac}
