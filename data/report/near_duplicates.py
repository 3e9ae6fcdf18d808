"""Near duplicates: candidates by their bands, each measured in the texts.

Texts that share a band form a bucket. Each text is compared with the first of its bucket and with the PREVIOUS ones before it.
All pairs of a bucket would grow with its square: a thousand prompts from one template are one bucket.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.report.columns import Rows, band_file
from data.report.items import Item
from data.report.minhash import BANDS
from data.report.words import jaccard, shingles

PREVIOUS = 3
MOST = 4_000_000
"""Most candidate pairs that are kept: 64 MB."""
ROUNDS = 24
"""Most candidates measured for one text, the earliest first."""
BATCH = 500
"""Pairs measured at a time by one process."""
RowPairs = npt.NDArray[np.int64]
"""(N, 2): an earlier row and a later one."""
MeasurePairs = Callable[[RowPairs], Sequence[bool]]
Wanted = Callable[[Rows, Rows], npt.NDArray[np.bool_]]


def candidate_pairs(folder: Path, name: str, rows: Rows, wanted: Wanted | None = None) -> RowPairs:
    """Pairs of `rows` that share a band, in the order of the later one. `wanted` selects pairs."""
    most = np.uint64(int(rows.max(initial=0)) + 1)
    keys = np.empty(0, np.uint64)
    for band in range(BANDS):
        values = np.fromfile(band_file(folder, name, band), np.uint64)[rows]
        earlier, later = _sharing(values)
        one, other = rows[earlier], rows[later]
        if wanted is not None:
            chosen = wanted(one, other)
            one, other = one[chosen], other[chosen]
        keys = np.union1d(keys, other.astype(np.uint64) * most + one.astype(np.uint64))[:MOST]
    return np.stack([keys % most, keys // most], axis=1).astype(np.int64)


def _sharing(values: npt.NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Places in `values` of each text with the first of its bucket, and with the PREVIOUS ones before it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, bool)
    places = np.arange(len(ordered))
    first = np.maximum.accumulate(np.where(begins, places, 0)) if len(ordered) else places
    found = [(first, places)] + [(places - back, places) for back in range(1, PREVIOUS + 1)]
    fitting = [(one[one >= first], other[one >= first]) for one, other in found]
    pairs = [(one[one < other], other[one < other]) for one, other in fitting]
    earlier, later = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return order[earlier], order[later]


def with_twins(pairs: RowPairs, measure: MeasurePairs) -> RowPairs:
    """One pair for each later row that has an earlier near duplicate. A row with a match is not compared any further."""
    found: list[RowPairs] = []
    for _ in range(ROUNDS):
        if not len(pairs):
            break
        _, firsts = np.unique(pairs[:, 1], return_index=True)
        tried = pairs[firsts]
        alike = tried[np.array(measure(tried), bool)]
        found.append(alike)
        rest = np.delete(pairs, firsts, axis=0)
        pairs = rest[~np.isin(rest[:, 1], alike[:, 1])]
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


SIMILAR = 0.8
"""Least Jaccard similarity of the shingles of near duplicates, as in Lee et al. 2022 and Rae et al. 2021."""
Sets = tuple[frozenset[str], tuple[frozenset[str], ...]]
"""Shingles of a row's prompt, and of each of its answers."""


def sets_of(item: Item) -> Sets:
    return frozenset(shingles(item.prompt_text)), tuple(frozenset(shingles(text)) for text in item.answers)


def similar_texts(one: frozenset[str], other: frozenset[str]) -> bool:
    return jaccard(one, other) >= SIMILAR


def similar_rows(one: Sets, other: Sets) -> bool:
    """Whether the prompts are near duplicates, and each answer of one row has a near duplicate in the other.

    Two pairs that share only their longer answer are different comparisons.
    """
    return similar_texts(one[0], other[0]) and _covered(one[1], other[1]) and _covered(other[1], one[1])


def _covered(answers: Sequence[frozenset[str]], by: Sequence[frozenset[str]]) -> bool:
    return all(any(similar_texts(answer, other) for other in by) for answer in answers)
