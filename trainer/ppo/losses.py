"""The losses of PPO and its relatives, and how they are averaged over an optimizer step.

ρ = π/π_old; A is the advantage. Losses per token are not averaged; `StepMean` does that. Positions outside the
mask have neither a value nor a gradient. Each kind of policy loss is a class in `LOSSES`. Its properties that need no
torch are in `LOSS_KINDS` in trainer/spec/ppo_loss.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from trainer.models.sequences import masked_sum
from trainer.ppo.kl import old_policy_kl
from trainer.spec import PolicyLossSpec
from trainer.spec.ppo_loss import Aggregation, LossName


def log_ratios(logprobs_BR: Tensor, old_logprobs_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """log ρ of each token, 0 outside the mask."""
    return torch.where(mask_BR, logprobs_BR - old_logprobs_BR, torch.zeros_like(logprobs_BR))


@dataclass(frozen=True)
class StepMean:
    """A weighted mean over the tokens of one whole optimizer step, fixed before the step is split into micro-batches.

    Each micro-batch adds its part of the sum over the same divisor, so the split changes only the rounding. A mean of
    micro-batch means would weight short micro-batches too high.
    """

    weights_B: Tensor
    divisor: Tensor

    @classmethod
    def over(cls, lengths_B: Tensor, kind: Aggregation, max_new_tokens: int) -> "StepMean":
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


@dataclass(frozen=True)
class PolicyTokens:
    """The tokens of some responses, as a policy loss reads them: (B, R) each."""

    logprobs_BR: Tensor
    """log π, with the gradient."""
    old_logprobs_BR: Tensor
    reference_logprobs_BR: Tensor
    advantages_BR: Tensor
    mask_BR: Tensor

    @property
    def log_ratio_BR(self) -> Tensor:
        """log ρ of each token, 0 outside the mask."""
        return log_ratios(self.logprobs_BR, self.old_logprobs_BR, self.mask_BR)


class ClippedLoss(NamedTuple):
    """A loss, and where a clip decided it."""

    loss: Tensor
    """The loss of each token (B, R), or what the responses add to the mean of the step."""
    clipped_BR: Tensor | None = None
    """True where a clip decided the loss of the token; None for a kind without a clip."""


class PolicyLoss(ABC):
    """A kind of policy loss."""

    metrics: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The metrics of the kind alone, by the short names that `measure` returns. trainer/metrics/ppo.py explains each."""

    def __init__(self, spec: PolicyLossSpec, old_kl_beta: float | None = None) -> None:
        """`old_kl_beta` replaces the spec's β of a KL to the old policy."""
        self.spec = spec
        self.old_kl_beta = spec.beta if old_kl_beta is None else old_kl_beta

    @abstractmethod
    def share(
        self, tokens: PolicyTokens, weights_BR: Tensor | float, mean: StepMean, rows: Tensor | slice
    ) -> ClippedLoss:
        """Return what the responses `rows` of a step add to its mean loss. `tokens` holds those rows only."""

    def measure(self, tokens: PolicyTokens) -> dict[str, Tensor]:
        """Return the values of `metrics` at each token, (B, R) each. Their means over the step's tokens are logged."""
        return {}


class TokenPolicyLoss(PolicyLoss):
    """A kind with a loss of each token. `aggregation` averages it, and importance weights multiply it."""

    @abstractmethod
    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        """Return the loss of each token, and where a clip decided it, (B, R) each. Values outside the mask are dropped."""

    def masked(self, tokens: PolicyTokens) -> ClippedLoss:
        """Return `of_tokens`, 0 and False outside the mask."""
        loss_BR, clipped_BR = self.of_tokens(tokens)
        loss_BR = torch.where(tokens.mask_BR, loss_BR, torch.zeros_like(loss_BR))
        return ClippedLoss(loss_BR, None if clipped_BR is None else clipped_BR & tokens.mask_BR)

    def share(
        self, tokens: PolicyTokens, weights_BR: Tensor | float, mean: StepMean, rows: Tensor | slice
    ) -> ClippedLoss:
        loss_BR, clipped_BR = self.masked(tokens)
        return ClippedLoss(mean.share(loss_BR * weights_BR, tokens.mask_BR, rows), clipped_BR)


class Clipped(TokenPolicyLoss):
    """max(−A·ρ, −A·clip(ρ, 1 − ε, 1 + ε_high)) (Schulman et al. 2017, eq. 7; clip-higher: Yu et al. 2025).

    Dual clip (Ye et al. 2020): if A < 0, the loss is at most −c·A.
    """

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        return self.at_ratio(tokens.log_ratio_BR.exp(), tokens.advantages_BR)

    def at_ratio(self, ratio_BR: Tensor, advantages_BR: Tensor) -> ClippedLoss:
        """Return the loss of tokens with these ratios and advantages."""
        spec = self.spec
        unclipped_BR = -advantages_BR * ratio_BR
        bounded_BR = -advantages_BR * ratio_BR.clamp(*spec.clip_bounds)
        loss_BR, clipped_BR = torch.maximum(unclipped_BR, bounded_BR), bounded_BR > unclipped_BR
        if spec.dual_clip is None:
            return ClippedLoss(loss_BR, clipped_BR)
        ceiling_BR = -spec.dual_clip * advantages_BR
        beyond_BR = (advantages_BR < 0) & (loss_BR > ceiling_BR)
        return ClippedLoss(torch.where(beyond_BR, ceiling_BR, loss_BR), clipped_BR | beyond_BR)


class GSPO(Clipped):
    """`Clipped`, with s = (Πₜ ρₜ)^(1/length) of the response at each of its tokens (Zheng et al. 2025, eq. 5 and 7).

    The derivative of s at a token is s·∇log π of that token alone (eq. 13). With the mean over the response it is that of
    eq. 5 if all tokens have one advantage. If they differ, each still reaches its own token.
    """

    metrics = MappingProxyType({"sequence_gap": "policy/sequence_log_ratio_avg"})

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        own_BR = tokens.log_ratio_BR - tokens.log_ratio_BR.detach()  # 0, with the derivative of log π
        return self.at_ratio((self._log_ratio(tokens).detach() + own_BR).exp(), tokens.advantages_BR)

    def measure(self, tokens: PolicyTokens) -> dict[str, Tensor]:
        return {"sequence_gap": self._log_ratio(tokens).abs().expand_as(tokens.mask_BR)}

    def _log_ratio(self, tokens: PolicyTokens) -> Tensor:
        """log s of each response, (B, 1)."""
        return tokens.log_ratio_BR.sum(1, keepdim=True) / tokens.mask_BR.sum(1, keepdim=True)


class CISPO(TokenPolicyLoss):
    """−A·sg(clip(ρ, 1 − ε, 1 + ε_high))·log π (MiniMax-M1, arXiv 2506.13585, eq. 4 and 5). Clipped tokens keep their gradient."""

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        ratio_BR = tokens.log_ratio_BR.detach().exp()
        weights_BR = ratio_BR.clamp(*self.spec.clip_bounds)
        return ClippedLoss(-tokens.advantages_BR * weights_BR * tokens.logprobs_BR, weights_BR != ratio_BR)


class Unclipped(TokenPolicyLoss):
    """−A·ρ."""

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        return ClippedLoss(-tokens.advantages_BR * tokens.log_ratio_BR.exp())


class Reinforce(TokenPolicyLoss):
    """−A·log π."""

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        return ClippedLoss(-tokens.advantages_BR * tokens.logprobs_BR)


class KLPenalty(TokenPolicyLoss):
    """−A·ρ + β·KL(π_old ‖ π) (Schulman et al. 2017, §4)."""

    metrics = MappingProxyType({"old_kl": "policy/old_kl_avg"})

    def of_tokens(self, tokens: PolicyTokens) -> ClippedLoss:
        log_ratio_BR = tokens.log_ratio_BR
        unclipped_BR = -tokens.advantages_BR * log_ratio_BR.exp()
        return ClippedLoss(unclipped_BR + self.old_kl_beta * old_policy_kl(log_ratio_BR))

    def measure(self, tokens: PolicyTokens) -> dict[str, Tensor]:
        return {"old_kl": old_policy_kl(tokens.log_ratio_BR)}


class LeastSquares(PolicyLoss):
    """The mean of (β·log π(y)/π_ref(y) − A)² over responses: A*-PO's regression (Brantley et al. 2025), A = r − V*."""

    def share(
        self, tokens: PolicyTokens, weights_BR: Tensor | float, mean: StepMean, rows: Tensor | slice
    ) -> ClippedLoss:
        return ClippedLoss(self.of_responses(tokens).sum() / len(mean.weights_B))

    def of_responses(self, tokens: PolicyTokens) -> Tensor:
        """Return the loss of each response, (B,)."""
        log_ratio_BR = log_ratios(tokens.logprobs_BR, tokens.reference_logprobs_BR, tokens.mask_BR)
        return (self.spec.beta * log_ratio_BR.sum(1) - tokens.advantages_BR[:, 0]) ** 2


LOSSES: dict[LossName, type[PolicyLoss]] = {
    "clipped": Clipped,
    "gspo": GSPO,
    "cispo": CISPO,
    "unclipped": Unclipped,
    "reinforce": Reinforce,
    "kl_penalty": KLPenalty,
    "least_squares": LeastSquares,
}
"""The implementation of each kind in `LOSS_KINDS`."""
LOSS_METRICS = {short: name for loss in LOSSES.values() for short, name in loss.metrics.items()}
"""The metrics that only some kinds have, by their short names."""


def policy_loss(spec: PolicyLossSpec, old_kl_beta: float | None = None) -> PolicyLoss:
    """Return the loss that a spec asks for."""
    return LOSSES[spec.kind](spec, old_kl_beta)


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
