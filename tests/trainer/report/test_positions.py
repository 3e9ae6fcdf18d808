import pytest

from tests.trainer.report.test_length_bias import columns
from trainer.report.positions import measure


def test_shares_by_hand() -> None:
    found = measure(columns([[0, 1], [0, 1], [1, 0], [0, 0], [0, 1, 2]]))
    assert found is not None
    assert (found.pairs, found.a, found.b, found.tie, found.a_of_decided) == (4, 0.5, 0.25, 0.25, 2 / 3)
    assert (found.low, found.high) == (pytest.approx(0.20766, abs=1e-5), pytest.approx(0.93851, abs=1e-5))


def test_where_a_always_wins_sides_mean_nothing() -> None:
    assert measure(columns([[0, 1], [0, 1], [0, 0]])) is None


def test_what_nobody_has_judged_does_not_count() -> None:
    found = measure(columns([[0, 1], [1, 0], [0, 0]], judged=[True, True, False]))
    assert found is not None and (found.pairs, found.tie) == (2, 0)
