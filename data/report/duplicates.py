"""Rows that say again what another row says: exactly, but for case and white space, or nearly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.report import near
from data.report.columns import Columns, Rows, band_file
from data.report.near import Pairs
from data.report.pool import Method, Pool


@dataclass(frozen=True)
class Duplicates:
    """Rows that repeat an earlier one; no row is in two of them."""

    exact: Rows
    """The same prompt, answers and verdict, by the same annotator; on whichever side the answers stand."""
    normalised: Rows
    """The same but for case and white space."""
    near: Pairs
    """An earlier row, and a later one that is nearly the same, whatever is said of its answers."""


def find(columns: Columns, pool: Pool, folder: Path) -> Duplicates:
    arrays = columns.arrays
    exact = repeats(arrays["verdict"])
    normalised = np.setdiff1d(repeats(arrays["verdict_normalised"]), exact)
    # Whoever judged the same texts again has not repeated a row: of each text one row stands for all.
    stand_ins = np.sort(np.unique(arrays["text_normalised"], return_index=True)[1])
    name = "row_bands" if band_file(folder, "row_bands", 0).exists() else "prompt_bands"
    pairs = near.candidates(folder, name, stand_ins)
    return Duplicates(exact, normalised, near.with_twins(pairs, measure(pool, "similar_rows", arrays["offset"])))


def repeats(values: npt.NDArray[np.uint64]) -> Rows:
    """Rows whose value an earlier row has."""
    again = np.ones(len(values), bool)
    again[np.unique(values, return_index=True)[1]] = False
    return np.flatnonzero(again)


def measure(pool: Pool, method: Method, offsets: npt.NDArray[np.uint64]) -> near.Measure:
    """Have pairs of rows measured by the pool, BATCH at a time."""

    def batches(pairs: Pairs) -> Iterator[list[tuple[int, int]]]:
        for begin in range(0, len(pairs), near.BATCH):
            yield [(int(one), int(other)) for one, other in offsets[pairs[begin : begin + near.BATCH]]]

    def measured(pairs: Pairs) -> Sequence[bool]:
        return [alike for batch in pool.map(method, batches(pairs)) for alike in batch]

    return measured
