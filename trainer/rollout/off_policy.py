"""Responses of a sampler that is not quite the policy which learns from them: how far apart, and how each token is weighed.

Shapes: B responses, R response positions. π_old: the policy right before its update, by the trainer's own forward pass;
μ: the sampler.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainer.sampling import Response


def sampler_logprobs(responses: Sequence[Response], like_BR: Tensor) -> Tensor | None:
    """log μ of each token, 0 outside the mask; None where the sampler does not say."""
    said = [response.logprobs for response in responses]
    if any(row is None for row in said):
        return None
    width = like_BR.shape[1]
    return torch.tensor([(row or []) + [0.0] * (width - len(row or [])) for row in said]).to(like_BR)


def importance_weights(logprobs_BR: Tensor, sampler_logprobs_BR: Tensor, cap: float) -> Tensor:
    """min(π_old/μ, cap) of each token: what makes a mean over μ's tokens one over π_old's, but for the cap, which bounds its
    variance (truncated importance sampling: Ionides 2008; for samplers of another precision: Yao et al. 2025). Exactly 1
    where the two are equal, and outside the mask.
    """
    return (logprobs_BR - sampler_logprobs_BR).exp().clamp(max=cap)


def describe_gap(
    logprobs_BR: Tensor, sampler_logprobs_BR: Tensor, mask_BR: Tensor, weights_BR: Tensor | None
) -> dict[str, float]:
    """|log π_old − log μ| over the tokens, and the weights as the loss has them."""
    gaps = (logprobs_BR - sampler_logprobs_BR).abs()[mask_BR]
    figures = {"sampling/logp_difference/mean": float(gaps.mean()), "sampling/logp_difference/max": float(gaps.max())}
    if weights_BR is None:
        return figures
    weights = weights_BR[mask_BR]
    named = {"min": weights.min(), "mean": weights.mean(), "max": weights.max()}
    return figures | {f"sampling/importance_sampling_ratio/{name}": float(value) for name, value in named.items()}
