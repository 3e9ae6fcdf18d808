"""The reward of an ensemble of reward models: their mean score less a penalty on their disagreement.

Coste et al. 2023 (arXiv 2310.02743), §3: worst-case optimisation takes min rₘ, uncertainty-weighted optimisation (UWO)
r̄ − λ·s² with s² = 1/M Σ (rₘ − r̄)². The default here is r̄ − c·s, whose penalty has the unit of the scores: it does not change
with their scale.

The members are the heads of one model (trainer/models/members.py), several models, or both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Protocol

from trainer.rewards.base import RewardInput
from trainer.spec import ModelReward


class MemberScorer(Protocol):
    """A reward model, or one member of an ensemble."""

    def member_scores(self, answers: Sequence[RewardInput]) -> list[list[float]]:
        """For each answer the score by each member of this model; one number for a single reward model."""
        ...


def combined(scores: Sequence[float], spec: ModelReward) -> float:
    """The reward of one response from its scores by the members."""
    match spec.combine:
        case "worst":
            return min(scores)
        case "mean":
            return fmean(scores)
        case "mean_minus_std":
            return fmean(scores) - spec.penalty * pstdev(scores)
        case "mean_minus_variance":
            return fmean(scores) - spec.penalty * pstdev(scores) ** 2


@dataclass
class Ensemble:
    """Scores responses by all members, and remembers how far these lie apart."""

    scorers: Sequence[MemberScorer]
    spec: ModelReward
    _last: list[float] = field(default_factory=list)

    def score(self, answers: Sequence[RewardInput]) -> list[float]:
        """Raises RewardError as a single reward model. A response with a score that is not finite gets NaN."""
        columns = [scorer.member_scores(answers) for scorer in self.scorers]
        rows = [[score for column in columns for score in column[row]] for row in range(len(answers))]
        finite = [all(map(math.isfinite, row)) for row in rows]
        self._last = [pstdev(row) if usable else math.nan for row, usable in zip(rows, finite, strict=True)]
        return [combined(row, self.spec) if usable else math.nan for row, usable in zip(rows, finite, strict=True)]

    def disagreement(self) -> list[float]:
        """The population standard deviation of the members' scores for each answer of the last call; NaN without a score."""
        return self._last
