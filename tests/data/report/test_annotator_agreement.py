from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.annotation import agreement
from data.report.annotator_agreement import (
    Judgements,
    Vote,
    _contradictions,
    _several,
    krippendorff_alpha,
    listed_annotators,
    majority,
)
from data.report.result import AnnotatorAgreement
from tests.data.report.tools import pair, plain_pairs, report


def test_alpha_by_hand() -> None:
    # Units aa, ab, bb, bb: of 8 values 3 are a and 5 are b. Observed: 2 of 8. By chance: 2 · 3 · 5 of 8 · 7: 1 − (2/8) ÷ (30/56).
    units = [(2, 0, 0), (1, 1, 0), (0, 2, 0), (0, 2, 0)]
    assert krippendorff_alpha(units) == pytest.approx(1 - (2 / 8) / (30 / 56))


def test_alpha_is_the_one_that_the_rounds_of_annotation_show() -> None:
    units = [(3, 0, 0), (2, 1, 0), (0, 2, 2), (1, 1, 1), (0, 4, 0)]
    labels = [["a"] * a + ["b"] * b + ["tie"] * tie for a, b, tie in units]
    assert krippendorff_alpha(units) == pytest.approx(agreement.alpha(labels))


def test_alpha_is_not_defined_where_nothing_varies() -> None:
    assert krippendorff_alpha([]) is None and krippendorff_alpha([(2, 0, 0), (3, 0, 0)]) is None


def test_the_majority_is_more_than_half() -> None:
    assert majority(Counter([1, 1, -1])) == 1
    assert majority(Counter([1, -1])) is None and majority(Counter([1, 1, -1, 0])) is None


def test_three_annotators_who_disagree(tmp_path: Path) -> None:
    rows = [
        pair("q", "x", "y", "a", annotator="ann"),
        pair("q", "y", "x", "b", annotator="bob"),  # the same verdict, sides turned
        pair("q", "x", "y", "b", annotator="cem"),  # row 3: against the two
        pair("r", "x", "y", "a", annotator="ann"),
        pair("r", "x", "y", "tie", annotator="bob"),  # no majority: rows 4 and 5
        *plain_pairs(4),
    ]
    made = report(tmp_path, rows)
    assert made.rows("annotators_disagree") == [3, 4, 5]
    assert made.rows("contradictions") == []  # no annotator contradicts their own verdicts
    assert made.result["agreement"]["items"] == 2
    people = {one["annotator"]: one for one in made.result["agreement"]["annotators"]}
    # of q, ann's others disagree with each other, and so do bob's; cem's agree, and not with cem; of r each has one other
    assert [
        (people[name]["rows"], people[name]["compared"], people[name]["agreement"]) for name in ("ann", "bob", "cem")
    ] == [
        (2, 0, None),
        (2, 0, None),
        (1, 1, 0.0),
    ]


def test_outlier_annotator_is_named_with_all_rows(tmp_path: Path) -> None:
    rows = []
    for number in range(30):
        for name, label in (("ann", "a"), ("bob", "a"), ("odd", "b")):
            rows.append(pair(f"question {number}", "x", "y", label, annotator=name))
    made = report(tmp_path, rows)
    assert made.rows("outlier_annotator") == list(range(3, 91, 3))
    assert "odd (0% of 30)" in made.finding("outlier_annotator")["detail"]
    assert made.result["agreement"]["alpha"] == pytest.approx(1 - (60 / 90) / (2 * 60 * 30 / (90 * 89)))
    assert "low_agreement" in made.codes


def test_agreement_of_one_annotator_is_reported_as_unknown(tmp_path: Path) -> None:
    made = report(tmp_path, [row | {"annotator": "kim"} for row in plain_pairs(3)])
    assert "one_annotator" in made.codes
    assert made.result["agreement"] is None


def test_contradictions_need_one_unnamed_or_the_same_annotator(tmp_path: Path) -> None:
    """Different named annotators disagree but do not contradict each other."""
    rows = [
        pair("q", "x", "y", "a"),  # unknown annotator
        pair("q", "x", "y", "b", annotator="kim"),
        pair("q", "x", "y", "a", annotator="ann"),
        pair("r", "x", "y", "a", annotator="ann"),
        pair("r", "x", "y", "b", annotator="kim"),
    ]
    made = report(tmp_path, rows)
    assert made.rows("contradictions") == [1, 2]


def test_annotators_disagree_counts_repeated_labels_too(tmp_path: Path) -> None:
    said = (("ann", "a"), ("bob", "a"), ("cem", "b"), ("cem", "b"), ("ann", "b"))
    made = report(tmp_path, [pair("q", "x", "y", label, annotator=name) for name, label in said])
    assert made.rows("annotators_disagree") == [3, 4, 5]


def test_outliers_of_two_differing_annotators_are_none(tmp_path: Path) -> None:
    rows = [
        pair(f"question {number}", "x", "y", label, annotator=name)
        for number in range(30)
        for name, label in (("ann", "a"), ("bob", "b"))
    ]
    made = report(tmp_path, rows)
    assert "outlier_annotator" not in made.codes and "low_agreement" in made.codes


def test_few_units_do_not_make_low_agreement(tmp_path: Path) -> None:
    rows = [pair(f"q{n}", "x", "y", "ab"[n // 2], annotator=f"p{n % 2}") for n in range(3)]
    made = report(tmp_path, [pair("q", "x", "y", "a", annotator="p0"), pair("q", "x", "y", "b", annotator="p1"), *rows])
    assert made.result["agreement"]["items"] == 1 and "low_agreement" not in made.codes


def _annotator(name: str, **figures: Any) -> AnnotatorAgreement:
    least: dict[str, Any] = {"rows": 1, "compared": 0, "agreement": None, "low": None, "high": None}
    return AnnotatorAgreement(annotator=name, **least | figures)


def test_listed_annotators_are_the_largest_100_and_100_outliers() -> None:
    many = [_annotator(f"p{n}", rows=1000 - n) for n in range(150)]
    odd = [_annotator(f"odd{n}", rows=1, compared=20, agreement=0.1, low=0.0, high=0.3) for n in range(120)]
    found = listed_annotators([*many, *odd])
    assert found == [*many[:100], *odd[:100]]


def test_contradictions_of_100000_votes_take_linear_time(tmp_path: Path) -> None:
    votes = [Vote(n, 1 if n % 3 else -1, n + 1, True) for n in range(100_000)]
    found = Judgements()
    _contradictions(votes, found)
    _several(votes, True, found)
    assert found.units == [(66_666, 33_334, 0)] and not found.contradicting
    assert found.judged[1] == {False: 1} and found.judged[2] == {True: 1}
