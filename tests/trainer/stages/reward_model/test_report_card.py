"""A report card on pairs made by hand."""

import math

import pytest

from trainer.stages.reward_model.report_card import (
    ScoredPair,
    by_agreement,
    calibration,
    calibration_error,
    report_card,
)
from trainer.stages.tokenized_rows import TokenizedPair

SURE = math.log(9)  # σ(log 9) = 0.9


def judged(difference: float, target: float = 1.0, a: int = 4, b: int = 4, **notes: str) -> ScoredPair:
    """A pair whose A side scores `difference` above its B side; `a` and `b` are their lengths in tokens."""
    return ScoredPair(TokenizedPair([2], [5] * a, [6] * b, target, **notes), difference, 0.0)  # type: ignore[arg-type]


def test_accuracy_overall_and_by_source() -> None:
    items = [
        judged(1.0, source="web"),
        judged(-1.0, target=0.0, source="web"),
        judged(1.0, target=0.0, source="books"),
        judged(0.0),  # no difference is no preference
        judged(3.0, target=0.5, source="web"),
    ]
    card = report_card(items, {}, 0)
    assert card is not None
    assert (card.overall.accuracy, card.overall.pairs, card.ties) == (0.5, 4, 1)
    assert {name: (part.accuracy, part.pairs) for name, part in card.by_source.items()} == {
        "books": (0.0, 1),
        "web": (1.0, 2),
    }
    assert card.overall.low == pytest.approx(0.1500, abs=1e-4) and card.overall.high == pytest.approx(0.85, abs=1e-4)
    assert card.margin == pytest.approx((1 + 1 - 1 + 0) / 4)


def test_nothing_but_ties_has_no_card() -> None:
    assert report_card([judged(1.0, target=0.5)], {}, 0) is None


def test_report_card_groups_by_length_of_preferred_to_other() -> None:
    items = [
        judged(1.0, a=10, b=5),  # twice
        judged(1.0, target=0.0, a=10, b=4),  # 0.4, and wrong
        judged(1.0, a=10, b=10),
        judged(1.0, a=6, b=5),
    ]
    card = report_card(items, {}, 0)
    assert card is not None
    assert {name: part.accuracy for name, part in card.by_length.items()} == {
        "less than half as long": 0.0,
        "about as long": 1.0,
        "longer": 1.0,
        "twice as long or more": 1.0,
    }
    assert card.length_baseline.accuracy == (1 + 0 + 0.5 + 1) / 4
    assert card.length_correlation is not None


def test_the_correlation_of_score_and_length() -> None:
    card = report_card([ScoredPair(TokenizedPair([2], [5] * 3, [6], 1.0), 2.0, 0.0)], {}, 0)
    assert card is not None and card.length_correlation == pytest.approx(1.0)
    flat = report_card([ScoredPair(TokenizedPair([2], [5], [6], 1.0), 2.0, 0.0)], {}, 0)
    assert flat is not None and flat.length_correlation is None


def test_calibration_error_is_0_if_accuracy_equals_confidence() -> None:
    right, wrong = judged(SURE), judged(SURE, target=0.0)
    bins = calibration([right] * 9 + [wrong])
    assert [(part.pairs, part.observed) for part in bins] == [(10, 0.9)]
    assert bins[0].predicted == pytest.approx(0.9) and calibration_error(bins) == pytest.approx(0, abs=1e-12)


def test_calibration_error_is_the_gap_for_either_side_order() -> None:
    """The error of an overconfident model is the distance between confidence and accuracy."""
    right, wrong = judged(-math.log(12), target=0.0), judged(math.log(12), target=0.0)  # σ = 12/13
    unsure = judged(math.log(4 / 3))  # σ = 4/7
    bins = calibration([right, wrong, unsure, unsure])
    assert [(part.low, part.high, part.pairs) for part in bins] == [
        (pytest.approx(0.55), pytest.approx(0.6), 2),
        (pytest.approx(0.9), pytest.approx(0.95), 2),
    ]
    assert calibration_error(bins) == pytest.approx((12 / 13 - 0.5 + 1 - 4 / 7) / 2)


def test_by_agreement_uses_majority_label_and_counts_pairs_once() -> None:
    def labels(length: int, difference: float, *targets: float) -> list[ScoredPair]:
        return [judged(difference, target, a=length, annotator=f"p{at}") for at, target in enumerate(targets)]

    items = [
        *labels(2, 1.0, 1.0, 1.0),  # unanimous, right
        *labels(3, -1.0, 1.0, 1.0, 1.0),  # unanimous, wrong
        *labels(5, 1.0, 1.0, 1.0, 0.0),  # majority, right
        *labels(6, 1.0, 1.0, 0.0),  # split
        *labels(7, 1.0, 1.0),  # one label shows no agreement
        *labels(8, 1.0, 0.5, 0.5),  # nor do ties
    ]
    found = {kind: (part.pairs, part.accuracy) for kind, part in by_agreement(items).items()}
    assert found == {"unanimous": (2, 0.5), "majority": (1, 1.0), "split": (1, 0.5)}


def test_by_agreement_merges_same_annotator_and_swapped_sides() -> None:
    twice = [judged(1.0, annotator="kim"), judged(1.0, target=0.0, annotator="kim")]
    assert by_agreement(twice) == {}
    swapped = ScoredPair(TokenizedPair([2], [6] * 4, [5] * 4, 0.0, annotator="lee"), 0.0, 1.0)
    assert by_agreement([judged(1.0, annotator="kim"), swapped])["unanimous"].pairs == 1


def test_by_agreement_counts_each_label_without_an_annotator() -> None:
    """Two against one; as one annotator's, the last label alone would remain."""
    found = by_agreement([judged(1.0, target) for target in (1.0, 1.0, 0.0)])
    assert {kind: (part.pairs, part.accuracy) for kind, part in found.items()} == {"majority": (1, 1.0)}
