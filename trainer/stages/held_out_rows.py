"""The held-out rows of an evaluation: all of them at the end of a stage, the same few of them before."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import torch

from trainer.hangs import phase
from trainer.randomness import generator

Row = TypeVar("Row")


def evaluated(rows: Sequence[Row], most: int | None, last: bool) -> Sequence[Row]:
    """The rows to evaluate on, in their order: all with `last` or without `most`, else `most` at the most.

    They are drawn, because a file may be sorted. They depend only on the number of rows. Evaluations of one stage, and of
    jobs on the same data with any seed, therefore compare. A larger `most` adds rows and keeps the others.
    """
    if last or most is None or len(rows) <= most:
        return rows
    drawn = torch.randperm(len(rows), generator=generator(0, "eval_rows"))[:most]
    return [rows[index] for index in sorted(drawn.tolist())]


def evaluating(last: bool) -> AbstractContextManager[None]:
    """The phase of an evaluation. The last one has a history of its own, because it may have many more rows."""
    return phase("evaluate_all" if last else "evaluate")
