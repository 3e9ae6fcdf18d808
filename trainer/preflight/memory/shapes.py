"""How large the batches get: from the lengths in the data and the limits in the spec, at three levels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trainer.preflight.memory.passes import Shape
from trainer.preflight.plan import mean
from trainer.preflight.sizes import Example, Pair, Sizes

Level = Literal["low", "expected", "high"]
"""Sequences of average length; the worst batch that one must expect; every sequence as long as it may be."""


def demonstrations(rows: int, examples: Sequence[Example], level: Level, packing: bool = False) -> Shape:
    """In the worst batch one row is the longest of all, and the others are padded to it; packed, they lie end to end."""
    totals = [example.prompt + example.completion for example in examples]
    completions = [example.completion for example in examples]
    width = round(mean(totals)) if level == "low" else max(totals)
    counted = max(completions) if level == "high" else mean(completions)
    laid = math.ceil(rows * mean(totals) / width) if packing and level == "expected" else rows
    return Shape(laid, width, max(1, round(rows * counted)))


def comparisons(sequences: int, pairs: Sequence[Pair], level: Level) -> Shape:
    """Both sides of each pair are rows. Counted are their completions, as DPO needs them."""
    totals = [pair.prompt + side for pair in pairs for side in (pair.a, pair.b)]
    sides = [side for pair in pairs for side in (pair.a, pair.b)]
    width = round(mean(totals)) if level == "low" else max(totals)
    counted = max(sides) if level == "high" else mean(sides)
    return Shape(sequences, width, max(1, round(sequences * counted)))


def read_at_ends(shape: Shape) -> Shape:
    """As a reward model sees the batch: one number for each row."""
    return Shape(shape.rows, shape.width, shape.rows)


@dataclass(frozen=True)
class Responses:
    """Sampled responses: as long as the demonstrations where there are any, else as long as allowed."""

    prompts: list[int]
    answers: list[int]
    limit: int

    @classmethod
    def of(cls, sizes: Sizes, limit: int, held_out: bool = False) -> "Responses":
        answers = [min(length, limit) for length in sizes.answers] or [limit]
        return cls(sizes.prompt_lengths(held_out), answers, limit)

    def prompt(self, level: Level) -> int:
        """Prompts are padded to the longest of their batch."""
        return round(mean(self.prompts)) if level == "low" else max(self.prompts, default=1)

    def longest(self, rows: int, level: Level) -> int:
        """The longest of `rows` responses: at the expected level the quantile 1 − 1/rows."""
        if level == "high":
            return self.limit
        if level == "low":
            return round(mean(self.answers))
        return sorted(self.answers)[min(len(self.answers) - 1, int(len(self.answers) * (1 - 1 / rows)))]

    def shape(self, rows: int, level: Level) -> Shape:
        counted = self.limit if level == "high" else mean(self.answers)
        return Shape(rows, self.prompt(level) + self.longest(rows, level), max(1, round(rows * counted)))

    def cached_tokens(self, rows: int, level: Level) -> tuple[int, int]:
        """Most tokens in the cache at once, and the rows then alive: those that end leave it.

        Every row's cache is as wide as the longest prompt and the responses so far.
        """
        prompt, longest = self.prompt(level), self.longest(rows, level)
        if level == "high":
            return rows * (prompt + longest), rows
        alive = [rows * sum(length > t for length in self.answers) / len(self.answers) for t in range(longest)]
        held = [(max(1, round(count)) * (prompt + t + 1), max(1, round(count))) for t, count in enumerate(alive)]
        return max(held, default=(rows * prompt, rows))
