"""What the processes of a report are given, and what they answer: small, and no text but excerpts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

SHOWN = 3
"""Samples of a finding."""
NO_ANSWER = -1
"""In place of an answer's number, where a finding is about none or about several."""
Sample = tuple[int, str]
"""A row (from 0) and an excerpt."""


@dataclass(frozen=True)
class Chunk:
    """Whole lines of the file: `length` bytes from `offset` on, the first of which has the number `line`."""

    offset: int
    length: int
    line: int
    sampled: Sequence[int] = ()
    """Lines of it whose language is looked at (0 is its first)."""


@dataclass
class Mark:
    """Rows of a chunk that a finding names (from 0), which of their answers it is, and excerpts of the first few."""

    rows: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def add(self, row: int, text: str, answer: int) -> None:
        self.rows.append(row)
        self.answers.append(answer)
        show(self.samples, row, text)


def show(samples: list[Sample], row: int, text: str) -> None:
    """One sample more, up to SHOWN, unless it says what the last one says: a record may have become several rows."""
    if len(samples) < SHOWN and (not samples or samples[-1][1] != text):
        samples.append((row, text))


@dataclass
class Scanned:
    """What a chunk holds. Arrays have one value for each row, those of answers one for each answer, row after row."""

    arrays: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    annotators: list[str] = field(default_factory=list)
    """Names; the array `annotator` counts from 1 into it, and 0 is nobody."""
    marks: dict[str, Mark] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    """Special tokens that the texts spell out."""
    languages: list[tuple[int, str]] = field(default_factory=list)
    """(row, language) of the sampled rows."""
    conversations: int = 0
    """Rows whose prompt has several messages."""

    def mark(self, code: str, row: int, text: str, answer: int = NO_ANSWER) -> None:
        self.marks.setdefault(code, Mark()).add(row, text, answer)
