"""Measures where verdicts on the same answers differ: those of one annotator, and those of several.

Krippendorff's α = 1 − Dₒ/Dₑ is the observed disagreement over that expected by chance, here of nominal values
(Krippendorff 2011). It accepts any number of annotators, and units that not all of them judged.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from data.errors import LibraryMissing
from data.report.columns import Columns, Rows
from data.report.result import AnnotatorAgreement
from data.statistics import wilson_interval

ALL_PAIRS = 16
"""Rankings of up to this many answers give all their pairs. Longer ones give only the answers with adjacent ranks, which is
enough to find cycles."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One row's verdict on two answers: +1 where the first is preferred, -1 where the second is, 0 for a tie."""

    row: int
    verdict: int
    annotator: int
    """0 means that the annotator is unknown."""
    straight: bool
    """Whether the first of the two also comes first in the row."""


AnswerPair = tuple[int, int]
"""Hashes of two answers, the smaller first."""
Votes = dict[AnswerPair, list[Vote]]


def votes_by_prompt(columns: Columns) -> Iterator[Votes]:
    """All votes on the answers to one prompt, for each prompt that several rows share."""
    order = np.argsort(columns.arrays["prompt"], kind="stable")
    ordered = columns.arrays["prompt"][order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.append(begins[1:], len(order))
    several = ends - begins > 1
    starts = columns.starts
    for begin, end in zip(begins[several].tolist(), ends[several].tolist(), strict=True):
        yield _votes(columns, order[begin:end].tolist(), starts)


def _votes(columns: Columns, rows: list[int], starts: Rows) -> Votes:
    votes: Votes = defaultdict(list)
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
            votes[pair].append(Vote(row, verdict if straight else -verdict, annotator, straight))
    return votes


Graph = dict[int, list[int]]


def rows_in_cycles(votes: Votes) -> set[int]:
    """Rows whose preference is part of a cycle (A before B, B before C, C before A) of three answers or more.

    Pairs with contradicting votes are left out: they have a finding of their own.
    """
    edges: dict[tuple[int, int], set[int]] = defaultdict(set)
    for (one, other), cast in votes.items():
        verdicts = {vote.verdict for vote in cast} - {0}
        if len(verdicts) == 1:
            edge = (one, other) if verdicts == {1} else (other, one)
            edges[edge] |= {vote.row for vote in cast if vote.verdict}
    graph: Graph = defaultdict(list)
    for winner, loser in edges:
        graph[winner].append(loser)
    place = components(graph)
    return {row for (winner, loser), rows in edges.items() if place[winner] == place[loser] for row in rows}


def components(graph: Graph) -> dict[int, int]:
    """A component number for each node: equal for nodes that can reach each other (strong components, Tarjan 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    found: dict[int, int] = {}
    stack: list[int] = []
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    _close(node, stack, found)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(graph.get(target, ()))))
            elif target not in found:
                low[node] = min(low[node], index[target])
    return found


def _close(node: int, stack: list[int], numbers: dict[int, int]) -> None:
    while True:
        member = stack.pop()
        numbers[member] = node
        if member == node:
            return


LISTED = 100
"""Most annotators that a report lists. Arena data has one for each judge."""
_NOBODY = 0
"""The number of an unknown annotator."""
ENOUGH = 20
"""Least number of units for an agreement that is reported."""


@dataclass
class Judgements:
    """Results of comparing verdicts. Rows are counted from 0."""

    contradicting: set[int] = field(default_factory=set)
    """Rows with verdicts of one annotator who prefers A to B and B to A, or with an unknown annotator on either side."""
    disagreeing: set[int] = field(default_factory=set)
    """Rows whose verdict is not that of the majority of several annotators. Without a majority, all rows."""
    in_circles: set[int] = field(default_factory=set)
    units: list[tuple[int, int, int]] = field(default_factory=list)
    """For each two answers that several annotators judged: the number of preferences for the one, for the other, and of ties."""
    judged: dict[int, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    """For each annotator, the number of verdicts with (True) and against (False) the majority of the others."""


def gather_judgements(columns: Columns, drawn: npt.NDArray[np.bool_]) -> Judgements:
    """Compare the verdicts on every prompt that several rows share. `drawn` is True for rows whose sides do not follow from the verdict."""
    judgements = Judgements()
    for votes in votes_by_prompt(columns):
        for cast in votes.values():
            if len(cast) > 1:
                _contradictions(cast, judgements)
                _several(cast, bool(drawn[cast[0].row]), judgements)
        if len(votes) > 2:
            judgements.in_circles |= rows_in_cycles(votes)
    return judgements


def _contradictions(cast: Sequence[Vote], judgements: Judgements) -> None:
    """Record contradicting votes. Two named annotators may differ; an unknown annotator may be either of them."""
    cast_by = {(vote.annotator, vote.verdict) for vote in cast}
    verdicts = {vote.verdict for vote in cast}
    for vote in cast:
        against = -vote.verdict
        alike = (vote.annotator, against) in cast_by or (_NOBODY, against) in cast_by
        if vote.verdict and (alike or (vote.annotator == _NOBODY and against in verdicts)):
            judgements.contradicting.add(vote.row)


def _several(cast: Sequence[Vote], drawn: bool, judgements: Judgements) -> None:
    """Record the votes of several annotators on two answers. The first vote of each annotator counts; later ones are only
    compared with the majority."""
    first = {vote.annotator: vote.verdict for vote in reversed(cast) if vote.annotator != _NOBODY}
    if len(first) < 2:
        return
    counts = Counter(first.values())
    # Which of the two is "the one" must not follow from who won. Where sides were drawn, they serve; else the hashes do.
    one, other = (-1, 1) if drawn and not cast[0].straight else (1, -1)
    judgements.units.append((counts[one], counts[other], counts[0]))
    if len(first) > 2:  # of two who differ, neither is the odd one
        _compare(first, counts, judgements)
    common = majority(counts)
    judgements.disagreeing |= {vote.row for vote in cast if vote.annotator != _NOBODY and vote.verdict != common}


def _compare(first: Mapping[int, int], counts: Counter[int], judgements: Judgements) -> None:
    """Compare each annotator with the majority of the others."""
    others = {verdict: majority(counts - Counter([verdict])) for verdict in counts}
    for annotator, verdict in first.items():
        if others[verdict] is not None:
            judgements.judged[annotator][verdict == others[verdict]] += 1


def majority(counts: Counter[int]) -> int | None:
    """The verdict of more than half of the votes, or None."""
    ((verdict, count),) = counts.most_common(1)
    return verdict if 2 * count > counts.total() else None


def krippendorff_alpha(units: Sequence[tuple[int, int, int]]) -> float | None:
    """Krippendorff's α of nominal values. None where it is undefined: no unit was judged twice, or all verdicts are equal. Raises LibraryMissing."""
    counts = np.array(units, np.int64).reshape(len(units), 3)
    if not len(units) or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    try:
        import krippendorff
    except ImportError as error:
        raise LibraryMissing("A report needs krippendorff: pip install rensa py3langid krippendorff.") from error
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def annotator_figures(columns: Columns, opinions: Judgements) -> list[AnnotatorAgreement]:
    """The figures of every named annotator, most rows first."""
    rows = Counter(columns.arrays["annotator"].tolist())
    figures = []
    for number, name in enumerate(columns.annotators, 1):
        judged = opinions.judged.get(number, Counter())
        compared = judged.total()
        share = judged[True] / compared if compared else None
        interval = wilson_interval(share, compared) if share is not None else (None, None)
        figures.append(
            AnnotatorAgreement(
                annotator=name,
                rows=rows[number],
                compared=compared,
                agreement=share,
                low=interval[0],
                high=interval[1],
            )
        )
    return sorted(figures, key=lambda one: (-one.rows, one.annotator))


def outliers(people: Sequence[AnnotatorAgreement]) -> list[AnnotatorAgreement]:
    """Annotators who agree with the majority of the others in less than half of the units, beyond chance."""
    return [person for person in people if person.compared >= ENOUGH and person.high is not None and person.high < 0.5]


def listed_annotators(people: Sequence[AnnotatorAgreement]) -> list[AnnotatorAgreement]:
    """The LISTED annotators with most rows, and at most LISTED outliers among the others."""
    return [*people[:LISTED], *outliers(people[LISTED:])[:LISTED]]
