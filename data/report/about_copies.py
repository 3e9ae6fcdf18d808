"""Findings of rows that say what others say, and of held-out prompts that are nearly trained on."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from data.report.columns import Rows
from data.report.duplicates import Duplicates
from data.report.findings import Found
from data.report.near import Pairs
from data.report.reading import Texts
from data.report.scanned import Sample


def duplicates(found: Duplicates, columns: dict[str, npt.NDArray[np.uint64]], texts: Texts) -> Iterator[Found]:
    """`columns`: the arrays that exact and normalised copies share their values in."""
    detail = "Prompt, answers, verdict and annotator are the same as of an earlier row: it counts twice in training."
    yield Found("duplicate_rows", detail, found.exact, _copies(found.exact, columns["verdict"], texts))
    detail = "An earlier row is the same but for case and white space."
    shown = _copies(found.normalised, columns["verdict_normalised"], texts)
    yield Found("normalised_duplicates", detail, found.normalised, shown)
    later = np.sort(found.near[:, 1])
    detail = (
        "Prompt and answers share four fifths of their word triples or more (Jaccard) with those of an earlier row, whatever "
        "was preferred. What differs may be all that matters, as in sums and code: look first."
    )
    yield Found("near_duplicates", detail, later, _twins(found.near, texts))


def leaks(rows: Rows, twins: Pairs, texts: Texts) -> Iterator[Found]:
    detail = (
        "Equal prompts are always on the same side of the split. These are held out, while a prompt with four fifths of the "
        "same word triples is trained on: the held-out figures flatter."
    )
    yield Found("leaking_prompts", detail, rows, _twins(twins, texts))


def _copies(rows: Rows, values: npt.NDArray[np.uint64], texts: Texts) -> list[Sample]:
    """Each with the first row that it repeats."""
    shown = texts.lines.apart(rows)
    firsts = [int(np.flatnonzero(values == values[row])[0]) for row in shown]
    return [
        (row, f"as line {texts.lines.row(first)}: {texts.prompt(row)}")
        for row, first in zip(shown, firsts, strict=True)
    ]


def _twins(pairs: Pairs, texts: Texts) -> list[Sample]:
    twin_of = {row: twin for twin, row in pairs.tolist()}
    shown = texts.lines.apart(np.sort(pairs[:, 1]))
    return [(row, f"like line {texts.lines.row(twin_of[row])}: {texts.prompt(row)}") for row in shown]
