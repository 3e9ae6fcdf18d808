"""How the policy loss corrects for a sampler μ that is not π_old, and how far the two lie apart.

r = π_old/μ of a token. A correction is a constant f(r) that multiplies the token's loss, so that a mean over μ's tokens
stands for one over π_old's. Its divisor counts all tokens, because masked ones were drawn too. Each kind is a class in
`CORRECTIONS`. Its properties that need no torch are in `CORRECTION_KINDS` in trainer/spec/ppo_correction.py.
"""

from abc import ABC, abstractmethod
from math import log
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.models import Model
from trainer.models.rounding import HARMLESS
from trainer.spec import RolloutSpec
from trainer.spec.ppo_correction import CorrectionName

_FAR = log(2)
_ROUNDING_UNITS = 16


class CorrectedTokens(NamedTuple):
    """The terms that a correction adds to a policy loss, for tokens (B, R)."""

    denominator_BR: Tensor
    """Log-probabilities below π in the loss's ratio: π_old's, with a bypass μ's, or an interpolation between μ and π."""
    weights_BR: Tensor | float
    """The constant that multiplies the loss of each token and its KL in the loss."""
    kept_BR: Tensor | float
    """1 where a token has a gradient, 0 where a mask takes it away."""


class Correction(ABC):
    """A kind of correction."""

    def __init__(self, spec: RolloutSpec, age: int = 0) -> None:
        """`age`: optimizer iterations of the policy since it was μ."""
        self.spec = spec.correction
        self.cap = spec.cap
        self.policy_share = age / (age + 1) if spec.correction.interpolates else 1.0
        """The share of log π in the upper policy of r: 1 without interpolation."""

    def ratio(self, log_ratio_BR: Tensor, mask_BR: Tensor) -> Tensor:
        """The ratio that the kind reads, from log r of each token: r itself."""
        return log_ratio_BR.exp()

    @abstractmethod
    def weight(self, ratio_BR: Tensor) -> Tensor:
        """f of each ratio."""

    def keeps(self, ratio_BR: Tensor) -> Tensor | None:
        """True where a token has a gradient; None for a kind without a mask."""
        return None

    def truncates(self, ratio_BR: Tensor) -> Tensor | None:
        """True where the cap cuts the weight; None for a kind without a cap."""
        return None

    def apply(
        self, logprobs_BR: Tensor, old_logprobs_BR: Tensor, sampler_logprobs_BR: Tensor, mask_BR: Tensor
    ) -> CorrectedTokens:
        """Return the terms of a pass with the log-probabilities `logprobs_BR`, which are read without their gradient.

        With a bypass π/μ is the loss's own ratio, so a mask reads it and its weight is 1 or 0. With an interpolation the
        proximal policy is log π_prox = (1 − c)·log μ + c·log π with c = k/(k + 1) for the age k (A-3PO, arXiv 2512.06547). It
        takes the place of π_old, as in an exact step of log π from μ over k iterations to π_old and over one more to π.
        """
        if self.spec.interpolates:
            old_logprobs_BR = sampler_logprobs_BR.lerp(logprobs_BR.detach(), self.policy_share)
        bypasses = self.spec.bypasses
        above_BR = logprobs_BR.detach() if bypasses else old_logprobs_BR
        ratio_BR = self.ratio(above_BR - sampler_logprobs_BR, mask_BR)
        found_BR = self.keeps(ratio_BR)
        kept_BR: Tensor | float = 1.0 if found_BR is None else found_BR.to(logprobs_BR.dtype)
        if bypasses:
            return CorrectedTokens(sampler_logprobs_BR, kept_BR, kept_BR)
        return CorrectedTokens(old_logprobs_BR, self.weight(ratio_BR), kept_BR)


class Uncorrected(Correction):
    """f(r) = r where the bypass puts r into the loss. Without a bypass there is no correction; see `correction_for`."""

    def weight(self, ratio_BR: Tensor) -> Tensor:
        return ratio_BR


class Truncated(Correction):
    """f(r) = min(r, C): the cap bounds the variance (Ionides 2008; between two engines: Yao et al. 2025)."""

    def weight(self, ratio_BR: Tensor) -> Tensor:
        assert self.cap is not None  # the spec has one for this kind
        return ratio_BR.clamp(max=self.cap)

    def truncates(self, ratio_BR: Tensor) -> Tensor:
        assert self.cap is not None
        return ratio_BR > self.cap


class Mask(Correction):
    """f(r) = r inside [1 − ε_low, 1 + ε_high], else 0: the two-sided mask of DIS (SAO, arXiv 2607.07508) and IcePop."""

    def keeps(self, ratio_BR: Tensor) -> Tensor:
        return (ratio_BR >= 1 - self.spec.epsilon_low) & (ratio_BR <= 1 + self.spec.epsilon_high)

    def weight(self, ratio_BR: Tensor) -> Tensor:
        return torch.where(self.keeps(ratio_BR), ratio_BR, torch.zeros_like(ratio_BR))


def geometric_mean(log_ratio_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """exp(mean of log r over the response) at each of its tokens, (B, R)."""
    inside_BR = torch.where(mask_BR, log_ratio_BR, torch.zeros_like(log_ratio_BR))
    mean_B1 = inside_BR.sum(1, keepdim=True) / mask_BR.sum(1, keepdim=True).clamp(min=1)
    return mean_B1.exp().expand_as(log_ratio_BR)


class SequenceTruncated(Truncated):
    """`Truncated`, with the geometric mean of r over the response."""

    def ratio(self, log_ratio_BR: Tensor, mask_BR: Tensor) -> Tensor:
        return geometric_mean(log_ratio_BR, mask_BR)


class SequenceMask(Mask):
    """`Mask`, with the geometric mean of r over the response: a whole response is kept or not."""

    def ratio(self, log_ratio_BR: Tensor, mask_BR: Tensor) -> Tensor:
        return geometric_mean(log_ratio_BR, mask_BR)


CORRECTIONS: dict[CorrectionName, type[Correction]] = {
    "none": Uncorrected,
    "truncated": Truncated,
    "mask": Mask,
    "sequence_truncated": SequenceTruncated,
    "sequence_mask": SequenceMask,
}
"""The implementation of each kind in `CORRECTION_KINDS`."""


def correction_for(spec: RolloutSpec, age: int = 0) -> Correction | None:
    """The correction that a spec asks for, for responses of that age; None if the loss is that of tokens of π_old."""
    kind = spec.correction_kind
    return None if kind == "none" and not spec.correction.bypasses else CORRECTIONS[kind](spec, age)


def beyond_rounding(policy: Model, sampler_dtype: torch.dtype) -> float:
    """The |log r| of a token that rounding explains: 16 units in the last place of the coarser of both types."""
    dtypes = (getattr(policy, "compute_dtype", torch.float32), sampler_dtype)
    return max(HARMLESS.mean, _ROUNDING_UNITS * max(torch.finfo(dtype).eps for dtype in dtypes))


def gap_metrics(
    logprobs_BR: Tensor,
    sampler_logprobs_BR: Tensor,
    mask_BR: Tensor,
    correction: Correction | None = None,
    rounding: float = HARMLESS.mean,
) -> dict[str, float]:
    """Metrics of log r = log π_old − log μ over the tokens, and of the weights that `correction` makes of it.

    `rounding`: see `beyond_rounding`. The effective sample size is (Σw)²/Σw² (Kish 1965), as a share of the tokens.
    """
    log_ratio_BR = logprobs_BR - sampler_logprobs_BR
    gaps = log_ratio_BR[mask_BR]
    sizes = gaps.abs()
    found = {
        "sampling/logp_difference/mean": sizes.mean(),
        "sampling/logp_difference/max": sizes.max(),
        "sampling/logp_difference/signed": gaps.mean(),
        "sampling/ratio/mean": gaps.exp().mean(),
        "sampling/ratio/above": (gaps > _FAR).to(sizes.dtype).mean(),
        "sampling/ratio/below": (gaps < -_FAR).to(sizes.dtype).mean(),
        "sampling/ratio/outside": (sizes > _FAR).to(sizes.dtype).mean(),
        "sampling/ratio/beyond_rounding": (sizes > rounding).to(sizes.dtype).mean(),
    }
    if correction is not None:
        found |= _weight_metrics(correction, correction.ratio(correction.policy_share * log_ratio_BR, mask_BR)[mask_BR])
    return dict(zip(found, torch.stack(list(found.values())).tolist(), strict=True))


def _weight_metrics(correction: Correction, ratios: Tensor) -> dict[str, Tensor]:
    weights, kept, truncated = correction.weight(ratios), correction.keeps(ratios), correction.truncates(ratios)
    squares = weights.square().sum()
    effective = weights.sum().square() / (squares * weights.numel())
    found = {
        "sampling/importance_sampling_ratio/min": weights.min(),
        "sampling/importance_sampling_ratio/mean": weights.mean(),
        "sampling/importance_sampling_ratio/max": weights.max(),
        "sampling/effective_sample_size": torch.where(squares > 0, effective, torch.zeros_like(effective)),
    }
    if kept is not None:
        found["sampling/masked"] = (~kept).to(weights.dtype).mean()
    if truncated is not None:
        found["sampling/truncated"] = truncated.to(weights.dtype).mean()
    return found
