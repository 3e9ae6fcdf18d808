"""Figures of a round, compared with numbers worked out by hand."""

from datetime import UTC, datetime

import pytest

from core.annotation.figures import AnnotatorFigures, SideFigures, figures
from core.annotation.labels import AnnotatorAnswer, ItemFacts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def said(
    annotator: str, item: str, choice: str | list[int], shown: tuple[int, ...] = (0, 1), seconds: float = 4.0
) -> AnnotatorAnswer:
    one, ranks = (choice, None) if isinstance(choice, str) else (None, choice)
    return AnnotatorAnswer(annotator, item, one, ranks, shown, seconds, NOON)


def test_answers_skips_ties_and_places() -> None:
    items = {name: ItemFacts() for name in "ABCD"}
    found = figures(
        [said("kim", "A", "a"), said("kim", "B", "a", (1, 0)), said("kim", "C", "tie"), said("kim", "D", "skip")],
        items,
        0,
    )
    assert (found.answers, found.skips, found.ties, found.first_chosen, found.second_chosen) == (3, 1, 1, 1, 1)
    assert (found.alpha, found.pairwise, found.sides) == (None, None, None)


def test_speed_and_gold_of_an_annotator() -> None:
    items = {"A": ItemFacts(), "G": ItemFacts(gold={"choice": "a"}), "H": ItemFacts(gold={"choice": "b"})}
    found = figures(
        [said("kim", "A", "a"), said("kim", "G", "a", seconds=2), said("kim", "H", "a", seconds=6)], items, 0
    )
    assert found.annotators == [AnnotatorFigures("kim", 1, 0, 0, 4.0, 900.0, 1, 2, None, None, None, NOON)]
    assert (found.answers, found.gold_right, found.gold_of) == (1, 1, 2)


def test_agreement_is_with_the_majority_of_the_others() -> None:
    items = {name: ItemFacts() for name in "ABC"}
    labels = {"kim": "aab", "lee": "aba", "max": "abb"}
    found = figures(
        [said(name, item, label) for name, row in labels.items() for item, label in zip("ABC", row, strict=True)],
        items,
        0,
    )
    # Item B: lee and max chose b, kim chose a. Item C: the others of kim chose a and b, so they have no majority.
    assert [one.agreement for one in found.annotators] == [
        pytest.approx(1 / 2),
        pytest.approx(1 / 2),
        pytest.approx(1.0),
    ]
    # Pairs of answers: A 3 of 3 equal, B 1 of 3, C 1 of 3.
    assert found.pairwise == pytest.approx(5 / 9)
    assert found.alpha_items == 3


def test_a_ranking_counts_by_its_pairs() -> None:
    items = {"A": ItemFacts(policies=[0, 1, 1], scores=[3.0, 2.0, 1.0]), "G": ItemFacts(gold={"ranks": [1, 2, 2]})}
    found = figures([said("kim", "A", [1, 3, 2], (2, 0, 1)), said("kim", "G", [1, 2, 3])], items, 2)
    # Policy 0 beats both completions of policy 1. The third pair is within policy 1 and does not count.
    assert found.sides == [SideFigures(0, 2, 0, 0), SideFigures(1, 0, 2, 0)]
    # The scores agree on first over second and first over third, and disagree on third over second.
    assert (found.reward_model.agree, found.reward_model.of) == (2, 3)
    # Gold: 1 before 2 and 1 before 3 are right, 2 and 3 should have been a tie.
    assert (found.gold_right, found.gold_of) == (2, 3)


def test_the_reward_model_is_held_against_everything_but_ties() -> None:
    items = {
        "A": ItemFacts(scores=[1.0, 2.0]),
        "B": ItemFacts(scores=[2.0, 1.0]),
        "C": ItemFacts(scores=[None, 1.0]),
        "D": ItemFacts(scores=[1.0, 1.0]),
    }
    found = figures(
        [said("kim", item, label) for item, label in zip("ABCD", ("b", "b", "a", "a"), strict=True)], items, 0
    )
    assert (found.reward_model.agree, found.reward_model.of) == (1, 2)
    # Wilson's interval of 1 of 2: (0.0945, 0.9055).
    assert found.reward_model.low == pytest.approx(0.0945, abs=1e-4)
    assert found.reward_model.high == pytest.approx(0.9055, abs=1e-4)
    assert found.annotators[0].reward_model_agreement == 0.5


def test_a_round_without_answers_has_no_figures() -> None:
    found = figures([], {"A": ItemFacts()}, 2)
    assert (found.answers, found.annotators, found.alpha, found.reward_model.of) == (0, [], None, 0)
    assert found.sides == [SideFigures(0), SideFigures(1)]
