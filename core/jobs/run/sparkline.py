"""The reward in the course of PPO as at most 60 means, kept in a column of the job's row as points arrive."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

STAGE, NAME, POINTS = "ppo", "objective/scores", 60


@dataclass
class Sparkline:
    """Means of the points by step. A bucket spans 2^`bits` steps. Its width doubles when there are more than 60."""

    bits: int
    buckets: list[list[float]]
    """`[number of the bucket, mean, number of points]` of each bucket that has points, in order."""

    @classmethod
    def stored(cls, column: dict[str, Any] | None) -> "Sparkline":
        """From the column; an empty one for null."""
        return cls(column["bits"], [list(one) for one in column["buckets"]]) if column else cls(0, [])

    def as_column(self) -> dict[str, Any] | None:
        return {"bits": self.bits, "buckets": self.buckets} if self.buckets else None

    def add(self, step: int, value: float, n: int = 1) -> None:
        """Add the mean of `n` points. Steps must not decrease."""
        self._add(step >> self.bits, value, n)
        while len(self.buckets) > POINTS:
            finer, self.buckets, self.bits = self.buckets, [], self.bits + 1
            for bucket, mean, count in finer:
                self._add(int(bucket) >> 1, mean, int(count))

    def _add(self, bucket: int, value: float, n: int) -> None:
        if self.buckets and self.buckets[-1][0] == bucket:
            last = self.buckets[-1]
            count = last[2] + n
            last[1:] = [last[1] * (last[2] / count) + value * (n / count), count]
        else:
            self.buckets.append([bucket, value, n])


def mean_of(columns: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The mean of several lines, as a column: each bucket is that of the lines which have it. Null without any line."""
    lines = [Sparkline.stored(column) for column in columns if column]
    bits = max((line.bits for line in lines), default=0)
    found: dict[int, list[float]] = {}
    for line in lines:
        wide = Sparkline(bits, [])
        for bucket, mean, count in line.buckets:
            wide._add(int(bucket) >> (bits - line.bits), mean, int(count))
        for bucket, mean, _ in wide.buckets:
            found.setdefault(int(bucket), []).append(mean)
    return Sparkline(bits, [[bucket, fmean(found[bucket]), len(found[bucket])] for bucket in sorted(found)]).as_column()


def means(column: dict[str, Any] | None) -> list[float]:
    """The numbers to draw, oldest first."""
    return [mean for _, mean, _ in column["buckets"]] if column else []
