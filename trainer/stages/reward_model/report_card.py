"""The report card of a pairwise reward model: accuracy and calibration of held-out pairs, by slices. Pure Python.

A pair with equal scores counts as wrong. Each label counts as a pair, except in `by_agreement`, which counts a pair that
several people labelled once.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.statistics import pearson, wilson_interval
from trainer.events.report_card import CalibrationBin, Card, Slice
from trainer.stages.tokenized_rows import TokenizedPair

BINS = 10
LENGTHS = (
    (0.5, "less than half as long"),
    (0.9, "shorter"),
    (1.1, "about as long"),
    (2.0, "longer"),
    (math.inf, "twice as long or more"),
)
"""Upper bounds of (tokens of the preferred answer) ÷ (tokens of the other), with the name of each slice."""


@dataclass(frozen=True)
class ScoredPair:
    """A pair with the raw scores of its sides."""

    pair: TokenizedPair
    a: float
    b: float

    @property
    def difference(self) -> float:
        """r(preferred) − r(other). It has no meaning for a tie."""
        return self.a - self.b if self.pair.target > 0.5 else self.b - self.a

    @property
    def preferred(self) -> list[int]:
        return self.pair.a if self.pair.target > 0.5 else self.pair.b

    @property
    def other(self) -> list[int]:
        return self.pair.b if self.pair.target > 0.5 else self.pair.a


def report_card(judged: Sequence[ScoredPair], reference_scores: Mapping[str, float], references: int) -> Card | None:
    """The report card of these pairs; None where all are ties. `reference_scores`: the result of `normalise`."""
    decided = [item for item in judged if item.pair.decided]
    if not decided:
        return None
    bins = calibration(decided)
    lengths = [(score, len(side)) for j in judged for score, side in ((j.a, j.pair.a), (j.b, j.pair.b))]
    return Card(
        overall=_slice(decided),
        by_source=_by_source(decided),
        by_length=_by_length(decided),
        by_agreement=by_agreement(judged),
        ties=len(judged) - len(decided),
        calibration=bins,
        calibration_error=calibration_error(bins),
        length_baseline=_share([_longer_wins(item) for item in decided], None),
        length_correlation=pearson(lengths),
        margin=math.fsum(item.difference for item in decided) / len(decided),
        references=references,
        reference_mean=reference_scores.get("reference_mean"),
        reference_std=reference_scores.get("reference_std"),
    )


@dataclass(frozen=True)
class MemberVerdicts:
    """Whether each member of an ensemble is right about each held-out row: one list of a verdict per member for each row."""

    right: Sequence[Sequence[bool]]

    @property
    def slices(self) -> dict[str, Slice]:
        """The accuracy of each member."""
        columns = zip(*self.right, strict=True)
        return {str(number): _share([*map(float, one)], None) for number, one in enumerate(columns, 1)}

    @property
    def agreement(self) -> float:
        """Share of the rows about which all members are right or all are wrong."""
        return sum(len(set(row)) == 1 for row in self.right) / len(self.right)

    @property
    def headline(self) -> dict[str, float]:
        """The figures that are logged as metrics."""
        found = [one.accuracy for one in self.slices.values()]
        return {"member_accuracy_min": min(found), "member_accuracy_max": max(found), "agreement": self.agreement}

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a report card."""
        return {"by_member": self.slices, "agreement": self.agreement}


def headline(judged: Sequence[ScoredPair]) -> dict[str, float]:
    """The figures of the card that are logged as metrics."""
    decided = [item for item in judged if item.pair.decided]
    if not decided:
        return {}
    return {
        "calibration_error": calibration_error(calibration(decided)),
        "length_baseline": sum(_longer_wins(item) for item in decided) / len(decided),
    }


def calibration(decided: Sequence[ScoredPair]) -> list[CalibrationBin]:
    """Ten bins of equal width of the probability of the answer ranked first, σ(|Δ|), from ½ to 1, without empty ones.

    Each pair is counted once, from the side that the model prefers, because the order of A and B is arbitrary.
    """
    inside: dict[int, list[ScoredPair]] = defaultdict(list)
    for item in decided:
        inside[min(int((_confidence(item) - 0.5) * 2 * BINS), BINS - 1)].append(item)
    return [
        CalibrationBin(
            low=0.5 + at / (2 * BINS),
            high=0.5 + (at + 1) / (2 * BINS),
            pairs=len(items),
            predicted=math.fsum(map(_confidence, items)) / len(items),
            observed=sum(map(_right, items)) / len(items),
        )
        for at, items in sorted(inside.items())
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """ECE: Σ n_b/N · |observed − predicted| (Guo et al. 2017, eq. 3)."""
    total = sum(part.pairs for part in bins)
    return math.fsum(part.pairs * abs(part.observed - part.predicted) for part in bins) / total


def by_agreement(judged: Iterable[ScoredPair]) -> dict[str, Slice]:
    """Pairs with several labels, by the agreement of the labels; see `Card.by_agreement`."""
    rows: dict[object, list[ScoredPair]] = defaultdict(list)
    for item in judged:
        pair = item.pair
        rows[tuple(pair.prompt), frozenset({tuple(pair.a), tuple(pair.b)})].append(item)
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for items in rows.values():
        agreement = _agreement(list(_last_labels(items)))
        if agreement is not None:
            kind, right = agreement
            points[kind].append((right, _confidence(items[0])))
    return {
        kind: _share([right for right, _ in points[kind]], [sure for _, sure in points[kind]])
        for kind in ("unanimous", "majority", "split")
        if kind in points
    }


def _last_labels(items: Sequence[ScoredPair]) -> Iterable[ScoredPair]:
    """The last label of each annotator. Each label without an annotator counts as another annotator's."""
    return {(item.pair.annotator or f"row {index}"): item for index, item in enumerate(items)}.values()


def _agreement(labels: Sequence[ScoredPair]) -> tuple[str, float] | None:
    """The agreement of a pair's labels, and the share with which the model agrees; None for one label, or only ties."""
    decided = [item for item in labels if item.pair.decided]
    if len(labels) < 2 or not decided:
        return None
    votes = Counter(tuple(item.preferred) for item in decided)
    side, most = votes.most_common(1)[0]
    if 2 * most <= len(labels):
        return "split", sum(map(_right, decided)) / len(decided)
    right = next(_right(item) for item in decided if tuple(item.preferred) == side)
    return ("unanimous" if most == len(labels) else "majority"), right


def _by_length(decided: Sequence[ScoredPair]) -> dict[str, Slice]:
    found: dict[str, list[ScoredPair]] = {name: [] for _, name in LENGTHS}
    for item in decided:
        ratio = len(item.preferred) / len(item.other)
        found[next(name for limit, name in LENGTHS if ratio < limit)].append(item)
    return {name: _slice(items) for name, items in found.items() if items}


def _by_source(decided: Sequence[ScoredPair]) -> dict[str, Slice]:
    found: dict[str, list[ScoredPair]] = defaultdict(list)
    for item in decided:
        if item.pair.source is not None:
            found[item.pair.source].append(item)
    return {name: _slice(items) for name, items in sorted(found.items())}


def _slice(items: Sequence[ScoredPair]) -> Slice:
    return _share([_right(item) for item in items], [_confidence(item) for item in items])


def _share(points: Sequence[float], confidences: Sequence[float] | None) -> Slice:
    accuracy = math.fsum(points) / len(points)
    low, high = wilson_interval(accuracy, len(points))
    confidence = None if confidences is None else math.fsum(confidences) / len(confidences)
    return Slice(pairs=len(points), accuracy=accuracy, low=low, high=high, confidence=confidence)


def _right(item: ScoredPair) -> float:
    return float(item.difference > 0)


def _longer_wins(item: ScoredPair) -> float:
    longer = len(item.preferred) - len(item.other)
    return 0.5 if longer == 0 else float(longer > 0)


def _confidence(item: ScoredPair) -> float:
    """σ(|Δ|), in ½ to 1."""
    return 1 / (1 + math.exp(-abs(item.a - item.b)))
