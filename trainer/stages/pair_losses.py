"""The losses on preference pairs, as functions of the log-probabilities of the two sides.

Every loss is an expectation over the verdict: p·L(A over B) + (1 − p)·L(B over A), p the target. A tie, p = ½, counts half each
way. B counts pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from trainer.spec import DPOSpec
from trainer.spec.pair_losses import PairLossName

_LARGEST_LOGPROB = -torch.finfo(torch.float32).eps
"""Above it a probability is 1 in float32, and its odds are infinite."""


@dataclass(frozen=True)
class PairLogprobs:
    """log(π/ref) of the two sides of each pair, (B,), or log π for a loss without a reference: a sum, or a mean per token."""

    a_B: Tensor
    b_B: Tensor
    targets_B: Tensor
    """How likely A is preferred."""

    @classmethod
    def joined(cls, parts: Sequence["PairLogprobs"]) -> "PairLogprobs":
        """The pairs of all parts."""
        a_B, b_B, targets_B = (torch.cat([getattr(p, name) for p in parts]) for name in ("a_B", "b_B", "targets_B"))
        return cls(a_B, b_B, targets_B)

    def losses(self, spec: DPOSpec) -> Tensor:
        """The loss of each pair, (B,)."""
        return LOSSES[spec.loss].of_pairs(self, spec)

    def rewards(self, spec: DPOSpec) -> tuple[Tensor, Tensor]:
        """The rewards of A and of B that the loss compares, (B,)."""
        reward = LOSSES[spec.loss].reward
        return reward(self.a_B, spec), reward(self.b_B, spec)

    def nlls(self) -> Tensor:
        """−log π of the preferred side of each pair, (B,). Not for log-ratios."""
        return -(self.targets_B * self.a_B + (1 - self.targets_B) * self.b_B)


def sigmoid(pairs: PairLogprobs, spec: DPOSpec, margin: float = 0.0) -> Tensor:
    """−[p log σ(βΔ − γ) + (1 − p) log σ(−βΔ − γ)], (B,), Δ = A − B and γ = `margin` (Rafailov et al. 2023, eq. 7: γ = 0).

    p is the target, drawn towards ½ by the share of wrong labels ε: p(1 − ε) + (1 − p)ε (Mitchell 2023).
    """
    wrong = spec.label_smoothing
    likely_B = pairs.targets_B * (1 - wrong) + (1 - pairs.targets_B) * wrong
    logits_B = spec.beta * (pairs.a_B - pairs.b_B)
    return -(likely_B * F.logsigmoid(logits_B - margin) + (1 - likely_B) * F.logsigmoid(-logits_B - margin))


def ipo(pairs: PairLogprobs, spec: DPOSpec) -> Tensor:
    """p(Δ − 1/(2β))² + (1 − p)(Δ + 1/(2β))², (B,), Δ = A − B (Azar et al. 2023, eq. 17)."""
    goal, differences_B = 1 / (2 * spec.beta), pairs.a_B - pairs.b_B
    return pairs.targets_B * (differences_B - goal) ** 2 + (1 - pairs.targets_B) * (differences_B + goal) ** 2


def simpo(pairs: PairLogprobs, spec: DPOSpec) -> Tensor:
    """`sigmoid` of mean log-probabilities per token, less the target margin γ in both directions (Meng et al. 2024, eq. 6)."""
    return sigmoid(pairs, spec, spec.target_margin)


def orpo(pairs: PairLogprobs, spec: DPOSpec) -> Tensor:
    """−log p(preferred) − λ·log σ(log odds(preferred) − log odds(other)), (B,) (Hong et al. 2024, eq. 6 and 7)."""
    ratios_B, targets_B = log_odds(pairs.a_B) - log_odds(pairs.b_B), pairs.targets_B
    ranked_B = -(targets_B * F.logsigmoid(ratios_B) + (1 - targets_B) * F.logsigmoid(-ratios_B))
    return pairs.nlls() + spec.odds_ratio_weight * ranked_B


def log_odds(logprobs_B: Tensor) -> Tensor:
    """log(p/(1 − p)) of log p, (B,). It is finite and has no gradient where p is 1 in float32."""
    logprobs_B = logprobs_B.clamp(max=_LARGEST_LOGPROB)
    return logprobs_B - torch.log(-torch.expm1(logprobs_B))


def _times_beta(values_B: Tensor, spec: DPOSpec) -> Tensor:
    return spec.beta * values_B


@dataclass(frozen=True)
class PairLoss:
    """The implementation of one loss."""

    of_pairs: Callable[[PairLogprobs, DPOSpec], Tensor]
    """The loss of each pair, (B,)."""
    reward: Callable[[Tensor, DPOSpec], Tensor] = _times_beta
    """The reward of sides with these log-probabilities, (B,)."""


LOSSES: dict[PairLossName, PairLoss] = {
    "sigmoid": PairLoss(sigmoid),
    "ipo": PairLoss(ipo),
    "simpo": PairLoss(simpo),
    "orpo": PairLoss(orpo, lambda values_B, _: log_odds(values_B)),
}
"""The implementation of each kind in trainer/spec/pair_losses.py."""
