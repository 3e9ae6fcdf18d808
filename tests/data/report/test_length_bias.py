from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from data.report.columns import Columns
from data.report.verdicts import best_rule, decided, measure_length_bias


def columns(rows: list[list[int]], judged: list[bool] | None = None, source: int = 0) -> Columns:
    """`rows`: the ranks of each row's answers."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "offset": np.arange(len(rows), dtype=np.uint64),
        "answers": np.array([len(row) for row in rows], np.uint16),
        "rank": np.array([rank for row in rows for rank in row], np.uint8),
        "judged": np.array(judged or [True] * len(rows), bool),
        "source": np.full(len(rows), source, np.uint64),
        "annotator": np.zeros(len(rows), np.int32),
    }
    return Columns(arrays)


def test_length_bias_takes_best_and_worst_rank_and_skips_ties() -> None:
    found = decided(
        columns([[0, 1], [1, 0], [0, 0], [1, 0, 2, 2]]), np.array([10, 20, 30, 40, 5, 6, 1, 2, 3, 4], np.uint32)
    )
    assert [side.tolist() for side in found] == [[10, 40, 2], [20, 30, 3]]


def test_figures_by_hand() -> None:
    # differences 1, 2, 3, −4 and 0: the longer one wins three times of four, unless it is longer by more than 3
    bias = measure_length_bias(np.array([2, 4, 6, 4, 7]), np.array([1, 2, 3, 8, 7]), "tokens")
    assert bias is not None
    assert (bias.pairs, bias.longer_wins, bias.mean_difference) == (4, 0.75, 2 / 5)
    assert (bias.low, bias.high) == (pytest.approx(0.30064, abs=1e-5), pytest.approx(0.95442, abs=1e-5))
    assert (bias.length_only_accuracy, bias.rule) == (
        1.0,
        "the longer one wins, unless they differ by more than 3 tokens",
    )


def test_the_shorter_one_may_be_the_rule() -> None:
    assert best_rule(np.array([-1, -2, -3, 5]), "tokens") == (
        1.0,
        "the shorter one wins, unless they differ by more than 3 tokens",
    )
    assert best_rule(np.array([-1, -2]), "tokens") == (1.0, "the shorter one wins")


def test_best_rule_begins_with_the_side_that_usually_wins() -> None:
    # The shorter one wins by 1, and the longer one by 50 or more, in nine pairs of ten.
    assert best_rule(np.array([-1, *range(50, 59)]), "characters") == (
        1.0,
        "the longer one wins, unless they differ by at most 1 characters",
    )
    assert best_rule(np.array([1, *range(-58, -49)]), "tokens")[1] == (
        "the shorter one wins, unless they differ by at most 1 tokens"
    )


def test_best_rule_keeps_equal_differences_on_one_side() -> None:
    # of the three pairs that differ by 2 the longer wins twice: no threshold can tell them apart
    accuracy, rule = best_rule(np.array([2, 2, -2]), "tokens")
    assert (accuracy, rule) == (2 / 3, "the longer one wins")


def test_without_a_difference_there_is_no_figure() -> None:
    assert measure_length_bias(np.array([3, 3]), np.array([3, 3]), "tokens") is None
    assert measure_length_bias(np.empty(0, np.int64), np.empty(0, np.int64), "tokens") is None
