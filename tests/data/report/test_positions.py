import numpy as np
import pytest

from data.report.columns import Columns
from data.report.result import Positions
from data.report.verdicts import drawn_sides, measure_positions
from tests.data.report.test_length_bias import columns

A, B, TIE = [0, 1], [1, 0], [0, 0]


def measured(found: Columns, labelled: bool = False) -> Positions | None:
    return measure_positions(found, drawn_sides(found) | labelled)


def test_shares_by_hand() -> None:
    found = measured(columns([A, A, B, TIE, [0, 1, 2]]))
    assert found is not None
    assert (found.pairs, found.a, found.b, found.tie, found.a_of_decided) == (4, 0.5, 0.25, 0.25, 2 / 3)
    assert (found.low, found.high) == (pytest.approx(0.20766, abs=1e-5), pytest.approx(0.93851, abs=1e-5))


def test_positions_constant_a_without_labels_is_not_measured() -> None:
    assert measured(columns([A, A, TIE])) is None


def test_positions_constant_label_a_predicts_the_winner() -> None:
    found = measured(columns([A, A, TIE]), labelled=True)
    assert found is not None and (found.pairs, found.a_of_decided) == (3, 1)
    assert measured(columns([TIE, TIE]), labelled=True) is None


def test_positions_unlabelled_pairs_do_not_count() -> None:
    found = measured(columns([A, B, TIE], judged=[True, True, False]))
    assert found is not None and (found.pairs, found.tie) == (2, 0)


def test_positions_chosen_source_is_skipped_beside_a_drawn_one() -> None:
    both = columns([A] * 30 + [A, A, B, TIE])
    both.arrays["source"][30:] = 2**40
    found = measured(both)
    assert found is not None and (found.pairs, found.a_of_decided) == (4, 2 / 3)
    assert drawn_sides(both).tolist() == [False] * 30 + [True] * 4


def test_positions_annotations_are_separate_from_uploaded_rows() -> None:
    both = columns([A] * 30 + [A, B], source=7)
    both.arrays["annotator"][30:] = np.array([1, 2])
    found = measured(both)
    assert found is not None and (found.pairs, found.a_of_decided) == (2, 0.5)


def test_positions_few_pairs_mostly_a_are_not_a_finding() -> None:
    both = columns([A] * 9 + [A, B])
    both.arrays["source"][9:] = 2**40
    found = measured(both)
    assert found is not None and found.pairs == 11
