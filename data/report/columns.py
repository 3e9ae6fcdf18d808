"""Columns of numbers for all rows: about 120 bytes of memory for a pair, and the bands of its signatures on disk."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from data.report.minhash import BANDS

SHOWN = 3
"""Samples that a finding shows."""
NO_ANSWER = -1
"""Replaces the number of the answer for a finding that concerns no single answer."""
RowExcerpt = tuple[int, str]
"""A row (from 0) and an excerpt."""


@dataclass(frozen=True)
class Chunk:
    """Whole lines of the file: `length` bytes from `offset` on. The first line has the number `line`."""

    offset: int
    length: int
    line: int
    sampled: Sequence[int] = ()
    """Lines whose language is detected, counted from 0."""


@dataclass
class Mark:
    """Rows of a chunk that a finding names (from 0), the answer of each that it concerns, and the first excerpts."""

    rows: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    samples: list[RowExcerpt] = field(default_factory=list)

    def add(self, row: int, text: str, answer: int) -> None:
        self.rows.append(row)
        self.answers.append(answer)
        add_excerpt(self.samples, row, text)


def add_excerpt(samples: list[RowExcerpt], row: int, text: str) -> None:
    """Add a sample, up to SHOWN. A text equal to the last one is skipped: one record may have become several rows."""
    if len(samples) < SHOWN and (not samples or samples[-1][1] != text):
        samples.append((row, text))


@dataclass
class Scanned:
    """The columns of a chunk. Arrays have one value for each row; arrays of answers have one for each answer, row after row."""

    arrays: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    annotators: list[str] = field(default_factory=list)
    """Names. The array `annotator` counts from 1 into it; 0 means unknown."""
    marks: dict[str, Mark] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    """Special tokens that the texts contain."""
    languages: list[tuple[int, str]] = field(default_factory=list)
    """(row, language) of the sampled rows."""
    conversations: int = 0
    """Rows whose prompt has several messages."""

    def mark(self, code: str, row: int, text: str, answer: int = NO_ANSWER) -> None:
        self.marks.setdefault(code, Mark()).add(row, text, answer)


Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
"""Row numbers from 0, in order."""
_ON_DISK = ("row_bands", "prompt_bands")


@dataclass
class Columns:
    """All rows. `arrays` have one value for each row, those of answers one for each answer, row after row."""

    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    annotators: list[str] = field(default_factory=list)
    """Names. The array `annotator` counts from 1 into it; 0 means unknown."""
    marks: dict[str, Rows] = field(default_factory=dict)
    answers: dict[str, Rows] = field(default_factory=dict)
    """The answer (from 0) that each row in `marks` concerns, or NO_ANSWER."""
    samples: dict[str, list[RowExcerpt]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    languages: list[tuple[int, str]] = field(default_factory=list)
    conversations: int = 0
    """Rows whose prompt has several messages."""

    @property
    def rows(self) -> int:
        return len(self.arrays["offset"])

    @property
    def starts(self) -> Rows:
        """Where the answers of each row begin in the arrays of answers; one more for the end."""
        return np.concatenate([[0], np.cumsum(self.arrays["answers"], dtype=np.int64)])

    @property
    def row_of(self) -> Rows:
        """The row of each answer."""
        return np.repeat(np.arange(self.rows), self.arrays["answers"])

    def has_tokens(self) -> bool:
        return "answer_tokens" in self.arrays


class Collector:
    """Puts chunks together, in the order of the file. `with Collector(folder) as collector: …`"""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
        self._marks: dict[str, list[Rows]] = defaultdict(list)
        self._answers: dict[str, list[Rows]] = defaultdict(list)
        self._names: dict[str, int] = {}
        self._columns = Columns()
        self._rows = 0
        self._files: dict[str, list[BinaryIO]] = {}
        self._open = ExitStack()

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, scanned: Scanned) -> None:
        names = np.array([0, *(self._names.setdefault(n, len(self._names) + 1) for n in scanned.annotators)], np.int32)
        scanned.arrays["annotator"] = names[scanned.arrays["annotator"]]
        for name in _ON_DISK:
            if name in scanned.arrays:
                self._write(name, scanned.arrays.pop(name))
        for name, values in scanned.arrays.items():
            self._parts[name].append(values)
        for code, mark in scanned.marks.items():
            self._marks[code].append(np.array(mark.rows, np.int64) + self._rows)
            self._answers[code].append(np.array(mark.answers, np.int64))
            for row, text in mark.samples:
                add_excerpt(self._columns.samples.setdefault(code, []), row + self._rows, text)
        self._columns.tokens |= scanned.tokens
        self._columns.languages += [(row + self._rows, language) for row, language in scanned.languages]
        self._columns.conversations += scanned.conversations
        self._rows += len(scanned.arrays["offset"])

    def columns(self) -> Columns:
        """The columns of the file. Call it after the last chunk was added."""
        for name in list(self._parts):
            self._columns.arrays[name] = np.concatenate(self._parts.pop(name))
        self._columns.marks = {code: np.concatenate(parts) for code, parts in self._marks.items()}
        self._columns.answers = {code: np.concatenate(parts) for code, parts in self._answers.items()}
        self._columns.annotators = list(self._names)
        self._open.close()
        return self._columns

    def _write(self, name: str, bands: npt.NDArray[Any]) -> None:
        """One file for each band, so that one at a time can be read."""
        if name not in self._files:
            paths = [band_file(self._folder, name, band) for band in range(BANDS)]
            self._files[name] = [self._open.enter_context(path.open("wb")) for path in paths]
        for file, values in zip(self._files[name], bands.T, strict=True):
            file.write(np.ascontiguousarray(values).tobytes())


def band_file(folder: Path, name: str, band: int) -> Path:
    """The position of one band of all rows in the file, 8 bytes each in this machine's order."""
    return folder / f"{name}-{band:02d}.u64"
