"""The loss of a stage that learns from rows: whether it ends above where it began."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean, pvariance
from typing import Any

_FEWEST = 3
"""Smallest number of losses at either end that is compared."""
_MOST = 10
_SHARE = 0.02
"""A rise below this share of the first mean is none."""
_NOISES = 3.0
"""A rise is above this multiple of the standard error of the difference. Rows are drawn in random order."""
_FAR = 5.0
"""The same for the first loss alone, as a multiple of the standard deviation of the last losses."""


@dataclass
class Losses:
    """The first and the last losses of a stage."""

    steps: int = 0
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)

    def add(self, loss: float | None) -> None:
        """Add the loss of a step. None, and a number that is not finite, is left out."""
        if loss is None or not math.isfinite(loss):
            return
        self.steps += 1
        if len(self.first) < _MOST:
            self.first.append(loss)
        self.last = [*self.last, loss][-_MOST:]

    def risen(self) -> tuple[float, float] | None:
        """The losses of the beginning and of the end (a mean) if the end is clearly higher; else None.

        The beginning is the mean of the first losses. It is the first loss alone if the end is far above that: a learning
        rate that is too high ruins a trained model in its first steps. The two ends do not overlap: each is at most half of
        the steps.
        """
        count = min(_MOST, self.steps // 2)
        if count < _FEWEST:
            return None
        first, last = self.first[:count], self.last[-count:]
        before, after = fmean(first), fmean(last)
        noise = math.sqrt((pvariance(first) + pvariance(last)) / count)
        if after - before > max(_SHARE * abs(before), _NOISES * noise):
            return before, after
        far = max(_SHARE * abs(first[0]), _FAR * math.sqrt(pvariance(last)))
        return (first[0], after) if after - first[0] > far else None

    def state(self) -> dict[str, Any]:
        """The losses as JSON, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any] | None) -> "Losses":
        """Restore a state that `state` returned. None: a checkpoint of an older release, after which the losses begin anew."""
        return cls(**state) if state else cls()
