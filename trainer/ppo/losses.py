"""The losses of PPO and its relatives, and how they are averaged over an optimizer step. Pure functions.

ρ = π/π_old; A is the advantage. Losses per token are not averaged; `StepMean` does that. Positions outside the
mask have neither a value nor a gradient.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from trainer.models.sequences import masked_sum
from trainer.ppo.kl import old_policy_kl
from trainer.spec import PolicyLossSpec


def log_ratios(logprobs_BR: Tensor, old_logprobs_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """log ρ of each token, 0 outside the mask."""
    return torch.where(mask_BR, logprobs_BR - old_logprobs_BR, torch.zeros_like(logprobs_BR))


def policy_loss(
    spec: PolicyLossSpec,
    logprobs_BR: Tensor,
    old_logprobs_BR: Tensor,
    advantages_BR: Tensor,
    mask_BR: Tensor,
    old_kl_beta: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the loss of each token, and True where a clip decided it, (B, R) each.

    `old_kl_beta` replaces the spec's β of "kl_penalty". Raises ValueError for "least_squares", a loss per response.
    """
    log_ratio_BR = log_ratios(logprobs_BR, old_logprobs_BR, mask_BR)
    ratio_BR = log_ratio_BR.exp()
    unclipped_BR = -advantages_BR * ratio_BR
    nowhere_BR = torch.zeros_like(mask_BR)
    match spec.kind:
        case "clipped":
            loss_BR, clipped_BR = _clipped(spec, unclipped_BR, ratio_BR, advantages_BR)
        case "unclipped":
            loss_BR, clipped_BR = unclipped_BR, nowhere_BR
        case "reinforce":
            loss_BR, clipped_BR = -advantages_BR * logprobs_BR, nowhere_BR
        case "kl_penalty":
            beta = spec.beta if old_kl_beta is None else old_kl_beta
            loss_BR, clipped_BR = unclipped_BR + beta * old_policy_kl(log_ratio_BR), nowhere_BR
        case "least_squares":
            raise ValueError("least_squares is a loss per response: see `least_squares_loss`")
    return torch.where(mask_BR, loss_BR, torch.zeros_like(loss_BR)), clipped_BR & mask_BR


def _clipped(
    spec: PolicyLossSpec, unclipped_BR: Tensor, ratio_BR: Tensor, advantages_BR: Tensor
) -> tuple[Tensor, Tensor]:
    """max(−A·ρ, −A·clip(ρ, 1 − ε, 1 + ε_high)) (Schulman et al. 2017, eq. 7; clip-higher: Yu et al. 2025).

    Dual clip (Ye et al. 2020): if A < 0, the loss is at most −c·A.
    """
    high = spec.clip_range if spec.clip_range_high is None else spec.clip_range_high
    bounded_BR = -advantages_BR * ratio_BR.clamp(1 - spec.clip_range, 1 + high)
    loss_BR, clipped_BR = torch.maximum(unclipped_BR, bounded_BR), bounded_BR > unclipped_BR
    if spec.dual_clip is None:
        return loss_BR, clipped_BR
    ceiling_BR = -spec.dual_clip * advantages_BR
    beyond_BR = (advantages_BR < 0) & (loss_BR > ceiling_BR)
    return torch.where(beyond_BR, ceiling_BR, loss_BR), clipped_BR | beyond_BR


def least_squares_loss(
    logprobs_BR: Tensor, reference_logprobs_BR: Tensor, advantages_BR: Tensor, mask_BR: Tensor, beta: float
) -> Tensor:
    """(β·log π(y)/π_ref(y) − A)² of each response, (B,): A*-PO's regression (Brantley et al. 2025), A = r − V*."""
    log_ratio_BR = log_ratios(logprobs_BR, reference_logprobs_BR, mask_BR)
    return (beta * log_ratio_BR.sum(1) - advantages_BR[:, 0]) ** 2


def value_loss(
    values_BR: Tensor, old_values_BR: Tensor, returns_BR: Tensor, mask_BR: Tensor, clip_range: float | None
) -> tuple[Tensor, Tensor]:
    """½ max((V − R)², (V_clip − R)²) of each token, and True where the clipped error was larger, (B, R) each.

    V_clip is V bounded to the old value ± `clip_range` (code of Ziegler et al. 2019); None does not clip.
    """
    values_BR = torch.where(mask_BR, values_BR, returns_BR)
    errors_BR = (values_BR - returns_BR) ** 2
    if clip_range is None:
        return 0.5 * errors_BR, torch.zeros_like(mask_BR)
    bounded_BR = old_values_BR + (values_BR - old_values_BR).clamp(-clip_range, clip_range)
    bounded_errors_BR = torch.where(mask_BR, (bounded_BR - returns_BR) ** 2, torch.zeros_like(errors_BR))
    return 0.5 * torch.maximum(errors_BR, bounded_errors_BR), bounded_errors_BR > errors_BR


@dataclass(frozen=True)
class StepMean:
    """A weighted mean over the tokens of one whole optimizer step, fixed before the step is split into micro-batches.

    Each micro-batch adds its part of the sum over the same divisor, so the split changes only the rounding. A mean of
    micro-batch means would weight short micro-batches too high.
    """

    weights_B: Tensor
    divisor: Tensor

    @classmethod
    def over(
        cls, lengths_B: Tensor, kind: Literal["token_mean", "sequence_mean", "fixed_length"], max_new_tokens: int
    ) -> "StepMean":
        """`lengths_B` are the response lengths of the whole step, in its order."""
        equal_B, count = torch.ones_like(lengths_B, dtype=torch.float32), lengths_B.new_full((), len(lengths_B))
        match kind:
            case "token_mean":
                return cls(equal_B, lengths_B.sum())
            case "sequence_mean":
                return cls(1 / lengths_B.float(), count)
            case "fixed_length":
                return cls(equal_B, count * max_new_tokens)

    def share(self, values_BR: Tensor, mask_BR: Tensor, rows: Tensor | slice) -> Tensor:
        """Return what the responses `rows` of the step add to the mean. `values_BR` holds those rows only."""
        return masked_sum(values_BR * self.weights_B[rows, None], mask_BR) / self.divisor
