from pathlib import Path

import numpy as np
import pytest

from data.report import near_duplicates
from data.report.columns import band_file
from data.report.minhash import BANDS
from data.report.near_duplicates import RowPairs, candidate_pairs


def write(folder: Path, bands: list[list[int]]) -> None:
    """`bands`: of each text, the values of its first bands; in the others nothing is shared."""
    values = np.arange(BANDS * len(bands), dtype=np.uint64).reshape(BANDS, -1) + np.uint64(1000)
    for text, own in enumerate(bands):
        values[: len(own), text] = own
    for band in range(BANDS):
        values[band].tofile(band_file(folder, "row_bands", band))


def test_texts_that_share_a_band_are_candidates_once(tmp_path: Path) -> None:
    write(tmp_path, [[1, 5], [2, 6], [1, 6], [1, 5]])
    pairs = candidate_pairs(tmp_path, "row_bands", np.arange(4))
    assert pairs.tolist() == [[0, 2], [1, 2], [0, 3], [2, 3]]


def test_of_some_rows_only_those_are_candidates(tmp_path: Path) -> None:
    write(tmp_path, [[1], [1], [1]])
    assert candidate_pairs(tmp_path, "row_bands", np.array([0, 2])).tolist() == [[0, 2]]
    unlike = candidate_pairs(tmp_path, "row_bands", np.arange(3), lambda one, other: (one + other) % 2 == 1)
    assert unlike.tolist() == [[0, 1], [1, 2]]


def test_candidate_pairs_grow_linearly_with_the_bucket(tmp_path: Path) -> None:
    write(tmp_path, [[7]] * 1000)
    pairs = candidate_pairs(tmp_path, "row_bands", np.arange(1000))
    # each with the first and the three before it: 0 + 1 + 2 + 3 of the first four, then 4 each
    assert len(pairs) == 6 + 4 * 996
    assert (pairs[:, 0] < pairs[:, 1]).all()


def test_with_twins_measures_no_row_that_already_has_a_twin() -> None:
    measured: list[list[int]] = []

    def measure(pairs: RowPairs) -> list[bool]:
        measured.extend(pairs.tolist())
        return [bool(one == 1) for one, _ in pairs]

    pairs = np.array([[0, 3], [1, 3], [2, 3], [1, 4], [2, 4], [0, 5]])
    assert near_duplicates.with_twins(pairs, measure).tolist() == [[1, 4], [1, 3]]
    assert measured == [[0, 3], [1, 4], [0, 5], [1, 3]]


def test_nothing_is_like_nothing() -> None:
    none = near_duplicates.with_twins(
        np.empty((0, 2), np.int64), lambda pairs: pytest.fail("nothing is there to be measured")
    )
    assert none.shape == (0, 2)
