"""Whether the side on which an answer stands has to do with who wins."""

from dataclasses import dataclass

import numpy as np

from trainer.report.columns import Columns
from trainer.statistics import wilson_interval


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


def measure(columns: Columns) -> Positions | None:
    """None where sides mean nothing: in files of chosen and rejected answers A is the chosen one by definition, and so where
    every decided pair says A."""
    chosen = (columns.arrays["answers"] == 2) & columns.arrays["judged"]
    begins = columns.starts[:-1][chosen]
    ranks = columns.arrays["rank"].astype(np.int64)
    difference = ranks[begins + 1] - ranks[begins]
    a, b = int(np.sum(difference > 0)), int(np.sum(difference < 0))
    if not b:
        return None
    share = a / (a + b)
    pairs = len(begins)
    return Positions(pairs, a / pairs, b / pairs, 1 - (a + b) / pairs, share, *wilson_interval(share, a + b))
