"""What was said, and by whom, of the same two answers to the same prompt."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from data.report.columns import Columns, Rows

ALL_PAIRS = 16
"""Answers up to which every pair of a ranking is looked at; of longer ones only answers whose ranks follow each other, which are
enough to find circles."""


@dataclass(frozen=True, slots=True)
class Vote:
    """+1: the first of the two is preferred, −1 the second, 0 a tie."""

    row: int
    verdict: int
    annotator: int
    """0 is nobody that is named."""
    straight: bool
    """Whether the first of the two also stands first in the row."""


Pair = tuple[int, int]
"""Hashes of two answers, the lesser first."""
Votes = dict[Pair, list[Vote]]


def by_prompt(columns: Columns) -> Iterator[Votes]:
    """All votes on the answers to one prompt, for each prompt that several rows have; in those alone opinions can meet."""
    order = np.argsort(columns.arrays["prompt"], kind="stable")
    ordered = columns.arrays["prompt"][order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.append(begins[1:], len(order))
    several = ends - begins > 1
    starts = columns.starts
    for begin, end in zip(begins[several].tolist(), ends[several].tolist(), strict=True):
        yield _votes(columns, order[begin:end].tolist(), starts)


def _votes(columns: Columns, rows: list[int], starts: Rows) -> Votes:
    found: Votes = defaultdict(list)
    for row in rows:
        if not columns.arrays["judged"][row]:
            continue
        answers = columns.arrays["answer"][starts[row] : starts[row + 1]].tolist()
        ranks = columns.arrays["rank"][starts[row] : starts[row + 1]].tolist()
        annotator = int(columns.arrays["annotator"][row])
        for (one, rank), (other, other_rank) in combinations(zip(answers, ranks, strict=True), 2):
            if len(answers) > ALL_PAIRS and abs(rank - other_rank) != 1:
                continue
            verdict = (rank < other_rank) - (rank > other_rank)
            straight = one < other
            pair = (one, other) if straight else (other, one)
            found[pair].append(Vote(row, verdict if straight else -verdict, annotator, straight))
    return found
