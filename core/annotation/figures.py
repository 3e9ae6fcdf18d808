"""Figures of a round: counts, speed and agreement of annotators, and wins of policies. Pure functions of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from core.annotation import agreement
from core.annotation.labels import AnnotatorAnswer, ItemFacts, Unit, by_unit, gold_points, preferred_by_model
from data.statistics import wilson_interval

Units = Mapping[Unit, Mapping[str, str]]


@dataclass(frozen=True)
class AnnotatorFigures:
    """Counts and agreement of one annotator."""

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
    """Wins, losses and ties of one policy against the others."""

    policy: int
    wins: int = 0
    losses: int = 0
    ties: int = 0


@dataclass(frozen=True)
class RewardModelAgreement:
    """How often the reward model prefers what people prefer: `agree` of `of` answers, and a 95 % interval of the share."""

    agree: int
    of: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Figures:
    """All figures of a round.

    `first_chosen` and `second_chosen` count answers by position on the screen. `alpha` and `pairwise` are measures of
    agreement; `alpha_items` is the number of items that they compare.
    """

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
    reward_model: RewardModelAgreement


def figures(answers: Sequence[AnnotatorAnswer], items: Mapping[str, ItemFacts], policies: int) -> Figures:
    """The figures of all answers and skips of a round. Answers to gold questions count in the gold figures only."""
    plain = [answer for answer in answers if items[answer.item_id].gold is None and not answer.is_skip]
    gold = [one for one in answers if items[one.item_id].gold is not None and not one.is_skip]
    units = by_unit(plain)
    chosen = [one.shown.index("ab".index(one.choice)) for one in plain if one.choice in ("a", "b")]
    labels = [list(unit.values()) for unit in units.values()]
    right, total = gold_points(gold, items)
    return Figures(
        answers=len(plain),
        skips=sum(one.is_skip for one in answers),
        ties=sum(one.has_tie for one in plain),
        first_chosen=chosen.count(0),
        second_chosen=chosen.count(1),
        alpha=agreement.alpha(labels),
        alpha_items=len({unit[0] for unit, by_annotator in units.items() if len(by_annotator) > 1}),
        pairwise=agreement.pairwise(labels),
        gold_right=right,
        gold_of=total,
        annotators=[_annotator(name, answers, items, units) for name in sorted({one.annotator for one in answers})],
        sides=_sides(units, items, policies) if policies > 1 else None,
        reward_model=_reward_model_agreement(units, items),
    )


def _annotator(
    name: str, answers: Sequence[AnnotatorAnswer], items: Mapping[str, ItemFacts], units: Units
) -> AnnotatorFigures:
    theirs = [answer for answer in answers if answer.annotator == name]
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
    """Their label and the majority label of the others, for each unit where the others have a majority."""
    found = []
    for labels in units.values():
        others = agreement.majority(label for other, label in labels.items() if other != name)
        if name in labels and others is not None:
            found.append((labels[name], others))
    return found


def _sides(units: Units, items: Mapping[str, ItemFacts], policies: int) -> list[SideFigures]:
    """Each policy's wins, losses and ties. Pairs of completions of the same policy are left out."""
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


def _reward_model_agreement(units: Units, items: Mapping[str, ItemFacts]) -> RewardModelAgreement:
    """The agreement over all labels of people that are not ties, with the 95 % Wilson interval of the share."""
    pairs = [
        (label, model)
        for unit, labels in units.items()
        if (model := preferred_by_model(unit, items)) is not None
        for label in labels.values()
        if label != "tie"
    ]
    agree = sum(one == other for one, other in pairs)
    low, high = wilson_interval(agree / len(pairs), len(pairs)) if pairs else (None, None)
    return RewardModelAgreement(agree, len(pairs), low, high)
