"""Whether the side on which an answer stands has to do with who wins."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns
from data.statistics import wilson_interval

Flags = npt.NDArray[np.bool_]
_BY_CHANCE = 10
"""Decided pairs below which all of them may say A by chance: of ten that were drawn by lot, once in a thousand times."""


@dataclass(frozen=True)
class Positions:
    """Shares of the pairs."""

    pairs: int
    a: float
    b: float
    tie: float
    a_of_decided: float
    low: float
    high: float
    """Wilson's 95 % interval of `a_of_decided`."""


def drawn(columns: Columns) -> Flags:
    """Of each row, whether its sides say nothing of who won by themselves.

    In files of chosen and rejected answers A is the chosen one by definition. So sources whose decided pairs all say A do not
    count, nor does a file without a single B. Of one source, rows with and without an annotator are two: those that a round
    of annotation adds to a file keep the source of what was judged.
    """
    pairs, difference = _pairs(columns)
    sources = columns.arrays["source"] & ~np.uint64(1) | (columns.arrays["annotator"] > 0)
    _, of_row = np.unique(sources, return_inverse=True)
    a = np.bincount(of_row[pairs][difference > 0], minlength=len(of_row))
    b = np.bincount(of_row[pairs][difference < 0], minlength=len(of_row))
    found: Flags = ((b > 0) | (a < _BY_CHANCE))[of_row] & b.any()
    return found


def measure(columns: Columns, sides: Flags) -> Positions | None:
    """Over the rows whose sides count; None where there are none."""
    chosen, differences = _pairs(columns)
    difference = differences[sides[chosen]]
    a, b = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    if not a + b:
        return None
    share = a / (a + b)
    pairs = len(difference)
    return Positions(pairs, a / pairs, b / pairs, 1 - (a + b) / pairs, share, *wilson_interval(share, a + b))


def _pairs(columns: Columns) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of two answers that somebody has judged, and of each how much better A is."""
    chosen = np.flatnonzero((columns.arrays["answers"] == 2) & columns.arrays["judged"])
    begins = columns.starts[:-1][chosen]
    ranks = columns.arrays["rank"].astype(np.int64)
    return chosen, ranks[begins + 1] - ranks[begins]
