"""Measures of agreement, compared with published numbers."""

import pytest

from core.annotation.agreement import alpha, kappa, majority, pairwise


def units(*observers: str) -> list[list[str]]:
    """The units of a table with one line of labels for each observer; `.` is a missing label."""
    return [[label for label in labels if label != "."] for labels in zip(*observers, strict=True)]


def test_alpha_of_two_observers_matches_krippendorff_example() -> None:
    """Krippendorff (2011), example A: ten items, α = 0.095."""
    assert alpha(units("0100000010", "1110010000")) == pytest.approx(0.095, abs=5e-4)


def test_alpha_with_missing_answers_matches_krippendorff_example() -> None:
    """Krippendorff (2011), example C: four observers, twelve items, some not labelled; nominal α = 0.743."""
    found = units("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    assert alpha(found) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_1_if_all_agree_and_none_if_nothing_varies() -> None:
    assert alpha([["a", "a"], ["b", "b"], ["tie"]]) == 1.0
    assert alpha([["a", "a"], ["a", "a"]]) is None
    assert alpha([["a"], []]) is None


def test_alpha_equals_that_of_the_library_if_installed() -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="the library of the report extra is not installed")
    data: list[list[str | None]] = [
        ["a", "b", "tie", "a", None],
        ["a", "a", "tie", "b", "b"],
        [None, "b", "a", "a", "b"],
    ]
    table = [["" if label is None else label for label in row] for row in data]
    found = [[label for label in labels if label is not None] for labels in zip(*data, strict=True)]
    numbers = [[{"a": 0.0, "b": 1.0, "tie": 2.0, "": float("nan")}[label] for label in row] for row in table]
    assert alpha(found) == pytest.approx(krippendorff.alpha(numbers, level_of_measurement="nominal"))


def test_kappa_matches_the_formula_of_cohen() -> None:
    """20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: agreement 0.7, by chance 0.5, so κ = 0.4."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([("y", "y")] * 3) is None
    assert kappa([]) is None


def test_majority_of_tied_labels_is_none() -> None:
    assert [majority(labels) for labels in ("aab", "ab", "", "b", "aabb")] == ["a", None, None, "b", None]


def test_pairs_of_answers_are_equal_or_not() -> None:
    # Three answers make three pairs, one of them equal. A single answer makes none.
    assert pairwise([["a", "a", "b"], ["tie"], ["b", "b"]]) == pytest.approx(2 / 4)
    assert pairwise([["a"]]) is None
