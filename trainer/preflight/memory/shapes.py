"""How large the batches get: from the lengths in the data and the limits in the spec, at three levels."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trainer.optim.micro_batches import BatchLimits
from trainer.preflight.workload import ExampleTokens, PairTokens, Sizes, mean

Level = Literal["low", "expected", "high"]
"""Sequences of average length, the worst batch that is expected, or every sequence as long as allowed."""
_DEVIATIONS = 2.0
"""Standard deviations by which the worst expected batch exceeds a mean one: 1 in 44 batches does."""


@dataclass(frozen=True)
class Shape:
    """The lengths of a batch: the tokens of each row's prompt and completion."""

    prompts: tuple[int, ...]
    completions: tuple[int, ...]

    @property
    def rows(self) -> int:
        return len(self.prompts)

    @property
    def tokens(self) -> int:
        return sum(self.prompts) + sum(self.completions)

    def largest(self, limits: BatchLimits) -> "Shape":
        """The micro-batch with the most tokens."""
        lengths = [sum(pair) for pair in zip(self.prompts, self.completions, strict=True)]
        rows = max(limits.split(lengths), key=lambda part: sum(lengths[row] for row in part))
        return Shape(tuple(self.prompts[row] for row in rows), tuple(self.completions[row] for row in rows))

    @property
    def counted(self) -> int:
        """Tokens whose log-probability is computed."""
        return sum(self.completions)


def demonstrations(rows: int, examples: Sequence[ExampleTokens], level: Level) -> Shape:
    return _rows(rows, [(example.prompt, example.completion) for example in examples], level)


def comparisons(sequences: int, pairs: Sequence[PairTokens], level: Level) -> Shape:
    """Both sides of each pair are rows."""
    return _rows(sequences, [(pair.prompt, side) for pair in pairs for side in (pair.a, pair.b)], level)


def texts(rows: int, lengths: Sequence[int], level: Level) -> Shape:
    """Rows of plain text, where every token but the first is a target."""
    return _rows(rows, [(1, max(1, length - 1)) for length in lengths], level)


def _rows(rows: int, found: Sequence[tuple[int, int]], level: Level) -> Shape:
    """`rows` of the lengths found: all average, quantiles of the data with the longest among them, or all longest."""
    if level == "low":
        prompt, completion = (max(1, round(mean([pair[side] for pair in found]))) for side in (0, 1))
        return Shape((prompt,) * rows, (completion,) * rows)
    ordered = sorted(found, key=lambda pair: (sum(pair), pair))
    if level == "high":
        longest = ordered[-1]
        completion = max(pair[1] for pair in found)
        return Shape((max(1, sum(longest) - completion),) * rows, (completion,) * rows)
    chosen = [ordered[_quantile(row, rows, len(ordered))] for row in range(rows)]
    grown = _grown(rows, [sum(pair) for pair in found])
    longest_completion = max(pair[1] for pair in found)
    completions = tuple(min(longest_completion, round(grown * pair[1])) for pair in chosen)
    return Shape(tuple(pair[0] for pair in chosen), tuple(max(1, length) for length in completions))


def _quantile(row: int, rows: int, count: int) -> int:
    """Index of the (row + 1)-th of `rows` evenly spread quantiles; the last is the longest."""
    return min(count - 1, math.ceil((row + 1) / rows * count) - 1)


def _grown(rows: int, totals: Sequence[int]) -> float:
    """The factor by which the tokens of the worst expected batch exceed those of an average one."""
    average = statistics.fmean(totals)
    return 1 + _DEVIATIONS * statistics.pstdev(totals) / (math.sqrt(rows) * average) if average else 1.0


@dataclass(frozen=True)
class Responses:
    """Sampled responses: as long as the demonstrations, or as long as allowed if there are none."""

    prompts: list[int]
    answers: list[int]
    limit: int

    @classmethod
    def from_sizes(cls, sizes: Sizes, limit: int, held_out: bool = False) -> "Responses":
        answers = [min(length, limit) for length in sizes.answers] or [limit]
        return cls(sizes.prompt_lengths(held_out) or [1], answers, limit)

    def shape(self, rows: int, level: Level) -> Shape:
        if level == "high":
            return Shape((max(self.prompts),) * rows, (self.limit,) * rows)
        return _rows(rows, list(zip(*self._matched(), strict=True)), level)

    def read(self, rows: int, level: Level) -> tuple[int, ...]:
        """The prompts of a batch, in ascending order."""
        return tuple(sorted(_rows(rows, [(length, 0) for length in self.prompts], level).prompts))

    def _matched(self) -> tuple[list[int], list[int]]:
        """Equally many prompts and answers, sorted by length, so that long prompts are paired with long answers."""
        count = min(max(len(self.prompts), len(self.answers)), 1000)
        return tuple(  # type: ignore[return-value]
            [ordered[_quantile(i, count, len(ordered))] for i in range(count)]
            for ordered in (sorted(self.prompts), sorted(self.answers))
        )
