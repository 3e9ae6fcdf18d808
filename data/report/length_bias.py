"""How much of the preferences the lengths of the answers alone would tell.

Long answers are preferred by people and by models beyond what they are worth, and a policy finds that out first (Singhal et al.
2023; Eisenstein et al. 2023). What a rule that knows nothing but the two lengths can reach, a reward model can reach without
having read a word.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns
from data.statistics import wilson_interval

Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LengthBias:
    """Of decided pairs; a ranking counts once, by its best and its worst answer."""

    unit: str
    pairs: int
    """Whose two answers differ in length."""
    longer_wins: float
    low: float
    high: float
    """Wilson's 95 % interval of it."""
    mean_difference: float
    """Preferred less other, over all decided pairs."""
    length_only_accuracy: float
    """Of the best rule below, on the pairs it was chosen by."""
    accuracy_low: float
    accuracy_high: float
    rule: str


def measure(preferred: Lengths, other: Lengths, unit: str) -> LengthBias | None:
    """None where no pair is decided, or all are of one length."""
    difference = preferred - other
    apart = difference[difference != 0]
    if not len(apart):
        return None
    longer = float(np.mean(apart > 0))
    accuracy, rule = best_rule(apart, unit)
    return LengthBias(
        unit,
        len(apart),
        longer,
        *wilson_interval(longer, len(apart)),
        float(np.mean(difference)),
        accuracy,
        *wilson_interval(accuracy, len(apart)),
        rule,
    )


def best_rule(apart: Lengths, unit: str) -> tuple[float, str]:
    """The most accurate rule of the form "the longer one wins, unless it is longer by more than t", or its opposite.

    A logistic regression on the difference decides by its sign, which is the same with t = ∞: swapping the sides must swap
    the verdict, so it can have no intercept.
    """
    size = np.abs(apart)
    order = np.argsort(size, kind="stable")
    won = (apart[order] > 0).astype(np.int64)
    ends = np.flatnonzero(np.concatenate([np.diff(size[order]) > 0, [True]]))  # where a threshold can stand
    count = ends + 1
    within = np.cumsum(won)[ends]
    beyond = won.sum() - within
    right = within + (len(won) - count - beyond)  # the longer one up to t, the shorter one beyond
    straight, mirrored = int(np.argmax(right)), int(np.argmax(len(won) - right))
    if right[straight] >= len(won) - right[mirrored]:
        return float(right[straight]) / len(won), _told("longer", size[order][ends[straight]], straight, ends, unit)
    return 1 - float(right[mirrored]) / len(won), _told("shorter", size[order][ends[mirrored]], mirrored, ends, unit)


def _told(side: str, threshold: int, at: int, ends: Lengths, unit: str) -> str:
    if at == len(ends) - 1:
        return f"the {side} one wins"
    return f"the {side} one wins, unless they differ by more than {threshold} {unit}"


def decided(columns: Columns, lengths: npt.NDArray[np.uint32]) -> tuple[Lengths, Lengths]:
    """Lengths of the preferred and of the other answer of each decided row; of a ranking, of its best and its worst."""
    counts, ranks = columns.arrays["answers"].astype(np.int64), columns.arrays["rank"].astype(np.int64)
    row_of = np.repeat(np.arange(columns.rows), counts)
    worst = np.zeros(columns.rows, np.int64)
    np.maximum.at(worst, row_of, ranks)
    clear = np.flatnonzero(worst > 0)
    best_at = _first(ranks == 0, row_of, columns.rows)[clear]
    worst_at = _first(ranks == worst[row_of], row_of, columns.rows)[clear]
    sizes = lengths.astype(np.int64)
    return sizes[best_at], sizes[worst_at]


def _first(holds: npt.NDArray[np.bool_], row_of: Lengths, rows: int) -> Lengths:
    """Of each row, the place of the first of its answers for which it holds; 0 where it holds for none."""
    found = np.zeros(rows, np.int64)
    places = np.flatnonzero(holds)[::-1]  # so that the first one is written last
    found[row_of[places]] = places
    return found
