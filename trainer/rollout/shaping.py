"""Reward shaping: a response's score is normalised, clipped and penalised, and becomes rewards per token. Pure functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.models.sequences import masked_mean
from trainer.spec import ShapingSpec


@dataclass(frozen=True)
class RunningScale:
    """Spread of the scores of all responses so far. A score is the sum of all rewards of its response.

    Batches are merged exactly (Chan et al. 1983). Checkpoints hold the three numbers.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared deviations from the mean."""

    def with_scores(self, scores: Sequence[float]) -> "RunningScale":
        """Return the scale after further scores."""
        if not scores:
            return self
        fresh = math.fsum(scores) / len(scores)
        count, shift = self.count + len(scores), fresh - self.mean
        squares = self.squares + math.fsum((score - fresh) ** 2 for score in scores)
        squares += shift**2 * self.count * len(scores) / count
        return RunningScale(count, self.mean + shift * len(scores) / count, squares)

    @property
    def deviation(self) -> float:
        """Population standard deviation; 1 if the scores do not vary, so that it is never a divisor of 0."""
        variance = self.squares / self.count if self.count else 0.0
        return math.sqrt(variance) if variance > 0 else 1.0


def shaped_scores(
    totals_B: Tensor, finished_B: Tensor, lengths_B: Tensor, spec: ShapingSpec, longest: int, scale: float = 1.0
) -> Tensor:
    """(B,) the scores, in this order: divided by `scale` if the spec normalises, clipped, missing EOS, length, overlong.

    `longest` is the most tokens of a response.
    """
    scores_B = totals_B / scale if spec.normalize == "running" else totals_B
    if spec.clip is not None:
        scores_B = scores_B.clamp(-spec.clip, spec.clip)
    scores_B = missing_eos(scores_B, finished_B, spec)
    if spec.length_penalty:
        scores_B = scores_B - spec.length_penalty * (lengths_B - spec.length_free).clamp(min=0)
    if spec.overlong_tokens is not None:
        scores_B = scores_B - spec.overlong_penalty * overlong_share(lengths_B, spec.overlong_tokens, longest)
    return scores_B


def overlong_share(lengths_B: Tensor, tokens: int, longest: int) -> Tensor:
    """(B,) how far each response reaches into the last `tokens` of `longest`: 0 before them, 1 at their end (Yu et al. 2025, eq. 13)."""
    return ((lengths_B - (longest - tokens)) / tokens).clamp(min=0, max=1)


def shaped_tokens(tokens_BR: Tensor, finished_B: Tensor, spec: ShapingSpec, scale: float = 1.0) -> Tensor:
    """(B, R) the rewards per token: divided by `scale` if the spec normalises, and each clipped.

    They are 0 in a cut-off response whose score is replaced. The penalties for a missing EOS and for length apply only to
    the score.
    """
    if spec.normalize == "running":
        tokens_BR = tokens_BR / scale
    if spec.clip is not None:
        tokens_BR = tokens_BR.clamp(-spec.clip, spec.clip)
    if spec.missing_eos == "replace":
        tokens_BR = torch.where(finished_B[:, None], tokens_BR, torch.zeros_like(tokens_BR))
    return tokens_BR


def missing_eos(scores_B: Tensor, finished_B: Tensor, spec: ShapingSpec) -> Tensor:
    """Subtract the penalty from the scores of cut-off responses, or replace them by its negative (Huang et al. 2024)."""
    kept_B = scores_B if spec.missing_eos == "subtract" else torch.zeros_like(scores_B)
    return torch.where(finished_B, scores_B, kept_B - spec.missing_eos_penalty)


def token_rewards(scores_B: Tensor, kl_BR: Tensor, mask_BR: Tensor, kl_coef: float) -> Tensor:
    """(B, R) −β·kl at every response token, plus the score at the last one, which is the EOS of a finished response.

    Ziegler et al. (2019), §2; Stiennon et al. (2020). TRL puts the score one position later, on a padding state.
    """
    rewards_BR = torch.where(mask_BR, -kl_coef * kl_BR, torch.zeros_like(kl_BR))
    last_B1 = mask_BR.sum(1, keepdim=True) - 1
    return rewards_BR.scatter_add(1, last_B1, scores_B[:, None])


def scaled_to_unit_variance(rewards_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """Scale to variance 1 over the mask, and keep the mean (Huang et al. 2024); 0 elsewhere.

    The variance is the population's. TRL divides by n − 1.
    """
    mean = masked_mean(rewards_BR, mask_BR)
    variance = masked_mean((rewards_BR - mean) ** 2, mask_BR)
    return torch.where(mask_BR, (rewards_BR - mean) * torch.rsqrt(variance + 1e-8) + mean, torch.zeros_like(rewards_BR))
