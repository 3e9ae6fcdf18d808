"""Where verdicts on the same answers differ: one person's own, those of several, and how far several agree.

Krippendorff's α = 1 − Dₒ/Dₑ: observed disagreement over that expected by chance, here of nominal values (Krippendorff 2011).
It takes any number of annotators, and units that not all of them have judged.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from data.errors import LibraryMissing
from data.report.circles import rows_in_circles
from data.report.columns import Columns
from data.report.votes import Vote, by_prompt
from data.statistics import wilson_interval

LISTED = 100
"""Annotators that a report lists: in an arena each judge is one."""
_NOBODY = 0
"""The number of who is not named."""
ENOUGH = 20
"""Units from which on an agreement is believed."""


@dataclass(frozen=True)
class Annotator:
    """Of one person."""

    annotator: str
    rows: int
    compared: int
    """Units that two others or more judged too, with a majority among them."""
    agreement: float | None
    """Share of those in which the verdict is that majority's."""
    low: float | None = None
    high: float | None = None
    """Wilson's 95 % interval of it."""


@dataclass
class Opinions:
    """Rows from 0."""

    contradicting: set[int] = field(default_factory=set)
    """Of one annotator who prefers A to B and B to A, or of nobody named against anybody."""
    disagreeing: set[int] = field(default_factory=set)
    """Against the majority of several annotators; all of them, where there is none."""
    in_circles: set[int] = field(default_factory=set)
    units: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each two answers that several annotators judged: how many prefer the one, the other, neither."""
    judged: dict[int, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    """Of each annotator, how often with and against the majority of the others."""


def gather(columns: Columns, drawn: npt.NDArray[np.bool_]) -> Opinions:
    """Look at every prompt that several rows have. `drawn`: of each row, whether its sides do not follow from who won."""
    found = Opinions()
    for votes in by_prompt(columns):
        for cast in votes.values():
            if len(cast) > 1:
                _contradictions(cast, found)
                _several(cast, bool(drawn[cast[0].row]), found)
        if len(votes) > 2:
            found.in_circles |= rows_in_circles(votes)
    return found


def _contradictions(cast: Sequence[Vote], found: Opinions) -> None:
    """Two people may differ; who is not named may be either of them."""
    said = {(vote.annotator, vote.verdict) for vote in cast}
    verdicts = {vote.verdict for vote in cast}
    for vote in cast:
        against = -vote.verdict
        alike = (vote.annotator, against) in said or (_NOBODY, against) in said
        if vote.verdict and (alike or (vote.annotator == _NOBODY and against in verdicts)):
            found.contradicting.add(vote.row)


def _several(cast: Sequence[Vote], drawn: bool, found: Opinions) -> None:
    """One vote each, their first; what else they say of the two is only held against the majority."""
    first = {vote.annotator: vote.verdict for vote in reversed(cast) if vote.annotator != _NOBODY}
    if len(first) < 2:
        return
    counts = Counter(first.values())
    # Which of the two is "the one" must not follow from who won. Where sides were drawn, they serve; else the hashes do.
    one, other = (-1, 1) if drawn and not cast[0].straight else (1, -1)
    found.units.append((counts[one], counts[other], counts[0]))
    if len(first) > 2:  # of two who differ, none can be told to be the odd one
        _compare(first, counts, found)
    common = majority(counts)
    found.disagreeing |= {vote.row for vote in cast if vote.annotator != _NOBODY and vote.verdict != common}


def _compare(first: Mapping[int, int], counts: Counter[int], found: Opinions) -> None:
    """Each with the majority of the others."""
    others = {verdict: majority(counts - Counter([verdict])) for verdict in counts}
    for annotator, verdict in first.items():
        if others[verdict] is not None:
            found.judged[annotator][verdict == others[verdict]] += 1


def majority(counts: Counter[int]) -> int | None:
    """The verdict of more than half; None where there is none."""
    ((verdict, count),) = counts.most_common(1)
    return verdict if 2 * count > counts.total() else None


def alpha(units: Sequence[tuple[int, int, int]]) -> float | None:
    """Krippendorff's, of nominal values; None where it is not defined: nothing was judged twice, or all say the same."""
    counts = np.array(units, np.int64).reshape(len(units), 3)
    if not len(units) or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    try:
        import krippendorff
    except ImportError as error:
        raise LibraryMissing("A report needs krippendorff: pip install 'proximal[report]'.") from error
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


def outliers(people: Sequence[Annotator]) -> list[Annotator]:
    """Who agrees with the others' majority in less than half of the units, and not by chance."""
    return [one for one in people if one.compared >= ENOUGH and one.high is not None and one.high < 0.5]


def listed(people: Sequence[Annotator]) -> list[Annotator]:
    """Those with most rows, and the outliers among the others: LISTED of each at most."""
    return [*people[:LISTED], *outliers(people[LISTED:])[:LISTED]]
