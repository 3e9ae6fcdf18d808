"""Repeated rows and leaking prompts: exact copies, copies up to case and white space, and near duplicates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.report.columns import Columns, Flags, RowExcerpt, Rows, band_file
from data.report.findings import FindingRows
from data.report.near_duplicates import BATCH, MeasurePairs, RowPairs, candidate_pairs, with_twins
from data.report.pool import Method, Pool
from data.report.rows_file import Texts


@dataclass(frozen=True)
class Duplicates:
    """Rows that repeat an earlier row. No row is in two of the arrays."""

    exact: Rows
    """The same prompt, answers, verdict and annotator. The sides of the answers may be exchanged."""
    normalised: Rows
    """The same up to case and white space."""
    near: RowPairs
    """An earlier row and a near duplicate of it. The verdicts may differ."""


def find_duplicates(columns: Columns, pool: Pool, folder: Path) -> Duplicates:
    arrays = columns.arrays
    exact = repeats(arrays["verdict"])
    normalised = np.setdiff1d(repeats(arrays["verdict_normalised"]), exact)
    # A second verdict on the same texts is not a repeated row, so one row represents each text.
    stand_ins = np.sort(np.unique(arrays["text_normalised"], return_index=True)[1])
    name = "row_bands" if band_file(folder, "row_bands", 0).exists() else "prompt_bands"
    pairs = candidate_pairs(folder, name, stand_ins)
    return Duplicates(exact, normalised, with_twins(pairs, measure(pool, "similar_rows", arrays["offset"])))


def repeats(values: npt.NDArray[np.uint64]) -> Rows:
    """Rows whose value occurs in an earlier row."""
    again = np.ones(len(values), bool)
    again[np.unique(values, return_index=True)[1]] = False
    return np.flatnonzero(again)


def measure(pool: Pool, method: Method, offsets: npt.NDArray[np.uint64]) -> MeasurePairs:
    """A function that measures pairs of rows in the pool, BATCH at a time."""

    def batches(pairs: RowPairs) -> Iterator[list[tuple[int, int]]]:
        for begin in range(0, len(pairs), BATCH):
            yield [(int(one), int(other)) for one, other in offsets[pairs[begin : begin + BATCH]]]

    def measured(pairs: RowPairs) -> Sequence[bool]:
        return [alike for batch in pool.map(method, batches(pairs)) for alike in batch]

    return measured


def held_out_rows(prompts: npt.NDArray[np.uint64], fraction: float) -> Flags:
    """Whether a job with this dataset alone would hold out each row, by the hash of its prompt (`data.splits`).

    The prompt with the least hash is held out, and the one with the greatest is trained on, where there are two.
    """
    share = prompts.astype(np.float64) / 2.0**64
    chosen = (share < fraction) | (prompts == prompts.min())
    kept: Flags = chosen & (prompts != prompts.max())
    return kept


def find_leaks(columns: Columns, kept: Flags, pool: Pool, folder: Path) -> tuple[Rows, RowPairs]:
    """Held-out rows whose prompt has a near duplicate among the prompts that are trained on.

    The second value has one row that is trained on and one that is held out for each such prompt. Equal prompts are always
    on one side.
    """
    prompts = columns.arrays["prompt"]
    _, first, of_row = np.unique(prompts, return_index=True, return_inverse=True)
    stand_ins = np.sort(first)
    pairs = candidate_pairs(folder, "prompt_bands", stand_ins, lambda one, other: kept[one] != kept[other])
    pairs = np.where(kept[pairs[:, :1]], pairs[:, ::-1], pairs)  # the one that is held out stands second
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    twins = with_twins(pairs, measure(pool, "similar_prompts", columns.arrays["offset"]))
    leaking = np.zeros(len(first), bool)
    leaking[of_row[twins[:, 1]]] = True
    return np.flatnonzero(leaking[of_row]), twins


def duplicate_findings(
    duplicates: Duplicates, columns: dict[str, npt.NDArray[np.uint64]], texts: Texts
) -> Iterator[FindingRows]:
    """Findings of repeated rows. `columns` are the arrays in which exact and normalised copies have equal values."""
    detail = "Prompt, answers, verdict and annotator are those of an earlier row, so it counts twice in training."
    yield FindingRows("duplicate_rows", detail, duplicates.exact, _copies(duplicates.exact, columns["verdict"], texts))
    detail = "An earlier row differs only in case and white space."
    shown = _copies(duplicates.normalised, columns["verdict_normalised"], texts)
    yield FindingRows("normalised_duplicates", detail, duplicates.normalised, shown)
    later = np.sort(duplicates.near[:, 1])
    detail = (
        "Prompt and answers share at least four fifths of their word triples (Jaccard) with those of an earlier row, whatever "
        "was preferred. Check them first: in sums and code a small difference may matter."
    )
    yield FindingRows("near_duplicates", detail, later, _twins(duplicates.near, texts))


def leak_findings(rows: Rows, twins: RowPairs, texts: Texts) -> Iterator[FindingRows]:
    detail = (
        "Equal prompts are always on the same side of the split. These are held out, but a prompt with four fifths of the "
        "same word triples is trained on, so the held-out figures are too good."
    )
    yield FindingRows("leaking_prompts", detail, rows, _twins(twins, texts))


def _copies(rows: Rows, values: npt.NDArray[np.uint64], texts: Texts) -> list[RowExcerpt]:
    """Samples of `rows`, each with the line of the first row that it repeats."""
    shown = texts.lines.apart(rows)
    firsts = [int(np.flatnonzero(values == values[row])[0]) for row in shown]
    return [
        (row, f"as line {texts.lines.row(first)}: {texts.prompt(row)}")
        for row, first in zip(shown, firsts, strict=True)
    ]


def _twins(pairs: RowPairs, texts: Texts) -> list[RowExcerpt]:
    twin_of = {row: twin for twin, row in pairs.tolist()}
    shown = texts.lines.apart(np.sort(pairs[:, 1]))
    return [(row, f"like line {texts.lines.row(twin_of[row])}: {texts.prompt(row)}") for row in shown]
