"""Figures of a round: how far it is, how fast and how well people answer, who wins. Pure: answers in, figures out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from core.annotation import agreement
from core.annotation.labels import Answer, Item, Unit, by_unit, gold_points, preferred_by_model
from data.statistics import wilson_interval

Units = Mapping[Unit, Mapping[str, str]]


@dataclass(frozen=True)
class AnnotatorFigures:
    """One annotator."""

    annotator: str
    answers: int
    skips: int
    ties: int
    median_seconds: float | None
    per_hour: float | None
    gold_right: int
    gold_of: int
    agreement: float | None
    kappa: float | None
    reward_model_agreement: float | None
    last_at: datetime


@dataclass(frozen=True)
class SideFigures:
    """One policy against the others."""

    policy: int
    wins: int = 0
    losses: int = 0
    ties: int = 0


@dataclass(frozen=True)
class Agreed:
    """How often the reward model prefers what people prefer."""

    agree: int
    of: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Figures:
    """All of a round's."""

    answers: int
    skips: int
    ties: int
    first_chosen: int
    second_chosen: int
    alpha: float | None
    alpha_items: int
    pairwise: float | None
    gold_right: int
    gold_of: int
    annotators: list[AnnotatorFigures]
    sides: list[SideFigures] | None
    reward_model: Agreed


def figures(said: Sequence[Answer], items: Mapping[str, Item], policies: int) -> Figures:
    """Of all answers and skips of a round. Gold questions count as such, and nowhere else."""
    plain = [one for one in said if items[one.item_id].gold is None and not one.is_skip]
    gold = [one for one in said if items[one.item_id].gold is not None and not one.is_skip]
    units = by_unit(plain)
    chosen = [one.shown.index("ab".index(one.choice)) for one in plain if one.choice in ("a", "b")]
    labels = [list(unit.values()) for unit in units.values()]
    right, total = gold_points(gold, items)
    return Figures(
        answers=len(plain),
        skips=sum(one.is_skip for one in said),
        ties=sum(one.has_tie for one in plain),
        first_chosen=chosen.count(0),
        second_chosen=chosen.count(1),
        alpha=agreement.alpha(labels),
        alpha_items=len({unit[0] for unit, said_of in units.items() if len(said_of) > 1}),
        pairwise=agreement.pairwise(labels),
        gold_right=right,
        gold_of=total,
        annotators=[_annotator(name, said, items, units) for name in sorted({one.annotator for one in said})],
        sides=_sides(units, items, policies) if policies > 1 else None,
        reward_model=_agreed(units, items),
    )


def _annotator(name: str, said: Sequence[Answer], items: Mapping[str, Item], units: Units) -> AnnotatorFigures:
    theirs = [one for one in said if one.annotator == name]
    answered = [one for one in theirs if not one.is_skip]
    plain = [one for one in answered if items[one.item_id].gold is None]
    right, total = gold_points([one for one in answered if items[one.item_id].gold is not None], items)
    seconds = [one.seconds for one in answered if one.seconds is not None]
    with_others = _with_majority(name, units)
    with_model = [
        (label, model)
        for one in plain
        for unit, label in one.labels()
        if label != "tie" and (model := preferred_by_model(unit, items)) is not None
    ]
    return AnnotatorFigures(
        annotator=name,
        answers=len(plain),
        skips=len(theirs) - len(answered),
        ties=sum(one.has_tie for one in plain),
        median_seconds=median(seconds) if seconds else None,
        per_hour=3600 * len(seconds) / sum(seconds) if sum(seconds) else None,
        gold_right=right,
        gold_of=total,
        agreement=agreement.share_equal(with_others),
        kappa=agreement.kappa(with_others),
        reward_model_agreement=agreement.share_equal(with_model),
        last_at=max(one.answered_at for one in theirs),
    )


def _with_majority(name: str, units: Units) -> list[tuple[str, str]]:
    """What they said beside what most of the others said of the same pair, where most said one thing."""
    found = []
    for labels in units.values():
        others = agreement.majority(label for other, label in labels.items() if other != name)
        if name in labels and others is not None:
            found.append((labels[name], others))
    return found


def _sides(units: Units, items: Mapping[str, Item], policies: int) -> list[SideFigures]:
    """Each policy's wins over the others; two completions of the same one say nothing."""
    wins, losses, ties = [0] * policies, [0] * policies, [0] * policies
    for (item_id, i, j), labels in units.items():
        origins = items[item_id].policies
        if origins is None or origins[i] == origins[j]:
            continue
        one, other = origins[i], origins[j]
        for label in labels.values():
            if label == "tie":
                ties[one] += 1
                ties[other] += 1
            else:
                better, worse = (one, other) if label == "a" else (other, one)
                wins[better] += 1
                losses[worse] += 1
    return [SideFigures(number, wins[number], losses[number], ties[number]) for number in range(policies)]


def _agreed(units: Units, items: Mapping[str, Item]) -> Agreed:
    """Over every answer that is no tie, with its 95 % interval."""
    pairs = [
        (label, model)
        for unit, labels in units.items()
        if (model := preferred_by_model(unit, items)) is not None
        for label in labels.values()
        if label != "tie"
    ]
    agree = sum(one == other for one, other in pairs)
    low, high = wilson_interval(agree / len(pairs), len(pairs)) if pairs else (None, None)
    return Agreed(agree, len(pairs), low, high)
