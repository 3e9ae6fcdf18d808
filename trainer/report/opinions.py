"""Where verdicts on the same answers differ: one person's own, those of several, and how far several agree.

Krippendorff's α = 1 − Dₒ/Dₑ: observed disagreement over that expected by chance, here of nominal values (Krippendorff 2011).
It takes any number of annotators, and units that not all of them have judged.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trainer.errors import SpecError
from trainer.report.circles import rows_in_circles
from trainer.report.columns import Columns
from trainer.report.votes import Vote, by_prompt
from trainer.statistics import wilson_interval


@dataclass(frozen=True)
class Annotator:
    """Of one person."""

    annotator: str
    rows: int
    compared: int
    """Units that several others judged too, with a majority among them."""
    agreement: float | None
    """Share of those in which the verdict is that majority's."""
    low: float | None = None
    high: float | None = None
    """Wilson's 95 % interval of it."""


@dataclass
class Opinions:
    """Rows from 0."""

    contradicting: set[int] = field(default_factory=set)
    """Of one annotator (or of nobody named) who prefers A to B and B to A."""
    disagreeing: set[int] = field(default_factory=set)
    """Against the majority of several annotators; all of them, where there is none."""
    in_circles: set[int] = field(default_factory=set)
    units: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each two answers that several annotators judged: how many prefer the one, the other, neither."""
    judged: dict[int, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    """Of each annotator, how often with and against the majority of the others."""


def gather(columns: Columns, sides_mean_something: bool) -> Opinions:
    """Look at every prompt that several rows have."""
    found = Opinions()
    for votes in by_prompt(columns):
        for cast in votes.values():
            if len(cast) > 1:
                _contradictions(cast, found)
                _several(cast, sides_mean_something, found)
        if len(votes) > 2:
            found.in_circles |= rows_in_circles(votes)
    return found


def _contradictions(cast: Sequence[Vote], found: Opinions) -> None:
    for annotator in {vote.annotator for vote in cast}:
        own = [vote for vote in cast if vote.annotator == annotator]
        if {1, -1} <= {vote.verdict for vote in own}:
            found.contradicting |= {vote.row for vote in own if vote.verdict}


def _several(cast: Sequence[Vote], sides_mean_something: bool, found: Opinions) -> None:
    """One vote each: their first."""
    first = {vote.annotator: vote for vote in reversed(cast) if vote.annotator}
    if len(first) < 2:
        return
    # Which of the two is "the one" must not follow from who won. Where sides were drawn, they serve; else the hashes do.
    turned = sides_mean_something and not cast[0].straight
    counts = Counter(-vote.verdict if turned else vote.verdict for vote in first.values())
    found.units.append((counts[1], counts[-1], counts[0]))
    for annotator, vote in first.items():
        others = majority([other.verdict for name, other in first.items() if name != annotator])
        if others is not None:
            found.judged[annotator][vote.verdict == others] += 1
    if len(counts) > 1:
        common = majority([vote.verdict for vote in first.values()])
        found.disagreeing |= {vote.row for vote in first.values() if vote.verdict != common}


def majority(verdicts: Sequence[int]) -> int | None:
    """The verdict of more than half; None where there is none."""
    (verdict, count), *_ = Counter(verdicts).most_common(1)
    return verdict if 2 * count > len(verdicts) else None


def alpha(units: Sequence[tuple[int, int, int]]) -> float | None:
    """Krippendorff's, of nominal values; None where it is not defined: nothing was judged twice, or all say the same."""
    counts = np.array(units, np.int64).reshape(len(units), 3)
    if not len(units) or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    try:
        import krippendorff
    except ImportError as error:
        raise SpecError("A report needs krippendorff: pip install 'proximal[report]'.") from error
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def annotators(columns: Columns, opinions: Opinions) -> list[Annotator]:
    """Everybody who is named, most rows first."""
    rows = Counter(columns.arrays["annotator"].tolist())
    found = []
    for number, name in enumerate(columns.annotators, 1):
        judged = opinions.judged.get(number, Counter())
        compared = judged.total()
        share = judged[True] / compared if compared else None
        interval = wilson_interval(share, compared) if share is not None else (None, None)
        found.append(Annotator(name, rows[number], compared, share, *interval))
    return sorted(found, key=lambda one: (-one.rows, one.annotator))
