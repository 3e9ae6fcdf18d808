"""The file of rows: chunks of whole lines, single rows for samples, and line numbers of the source file."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data.errors import UnreadableRows
from data.parse import read_row
from data.report.columns import NO_ANSWER, SHOWN, Chunk, Columns, Rows
from data.report.items import Item, parser
from data.report.row_checks import excerpt
from data.report.settings import ReportSettings
from data.schema import DatasetKind

Numbers = npt.NDArray[np.uint64]


class LineNumbers:
    """Line numbers of the source file. `of_rows` is None if a row's number is its line. `of_answers` is None if answers are in their row's line."""

    def __init__(self, of_rows: Numbers | None, of_answers: Numbers | None, starts: Rows) -> None:
        self._of_rows, self._of_answers, self._starts = of_rows, of_answers, starts

    @classmethod
    def read(cls, settings: ReportSettings, columns: Columns) -> "LineNumbers":
        """The line numbers from the files that the settings name. Raises UnreadableRows for files that cannot be read, or that
        belong to other rows."""
        starts = columns.starts
        of_rows = None if settings.lines is None else _numbers(settings.lines, columns.rows, "rows")
        named = settings.answer_lines
        return cls(of_rows, None if named is None else _numbers(named, int(starts[-1]), "answers"), starts)

    def numbers(self, rows: Rows, answers: Rows | None = None) -> Rows:
        """The line of each row, or of the answer that `answers` names (NO_ANSWER: the row)."""
        found: Rows = rows + 1 if self._of_rows is None else self._of_rows[rows].astype(np.int64)
        if self._of_answers is not None and answers is not None:
            one = answers != NO_ANSWER
            found[one] = self._of_answers[self._starts[rows[one]] + answers[one]]
        return found

    def row(self, row: int) -> int:
        """The line of one row."""
        return int(self.numbers(np.array([row]))[0])

    def apart(self, rows: Rows) -> list[int]:
        """The first SHOWN rows with different lines, for samples: a record may have become several rows."""
        found: dict[int, int] = {}
        for row in rows.tolist():
            found.setdefault(self.row(row), row)
            if len(found) == SHOWN:
                break
        return list(found.values())


def _numbers(path: Path, count: int, what: str) -> Numbers:
    try:
        numbers = np.fromfile(path, "<u8")
    except OSError as error:
        raise UnreadableRows(f"{path}: {error.strerror}.") from error
    if len(numbers) != count:
        raise UnreadableRows(f"{path}: {len(numbers)} line numbers for {count} {what}.")
    return numbers


CHUNK = 4 * 2**20
"""Bytes of a chunk, without the rest of its last line."""


def cut_into_chunks(path: Path) -> list[Chunk]:
    """Chunks of about CHUNK bytes. Raises UnreadableRows for a file that cannot be read, or has no row."""
    chunks: list[Chunk] = []
    try:
        with path.open("rb") as file:
            offset, line, blank = 0, 1, True
            while block := file.read(CHUNK) + file.readline():
                chunks.append(Chunk(offset, len(block), line))
                offset, line = offset + len(block), line + block.count(b"\n")
                blank = blank and not block.strip(b"\xef\xbb\xbf \t\r\n")
    except OSError as error:
        raise UnreadableRows(f"{path}: {error.strerror}.") from error
    if blank:
        raise UnreadableRows(f"{path}: the file is empty: it has no row.")
    return chunks


def lines_in(path: Path, cut: Sequence[Chunk]) -> int:
    """The number of lines. The last one may lack its line break."""
    last = cut[-1]
    with path.open("rb") as file:
        file.seek(last.offset)
        block = file.read(last.length)
    return last.line - 1 + block.count(b"\n") + (not block.endswith(b"\n"))


def with_samples(cut: Sequence[Chunk], sampled: Sequence[int]) -> Iterator[Chunk]:
    """The chunks, each with those lines of the sample (from 0, in order) that are in it."""
    for chunk, following in zip(cut, (*cut[1:], None), strict=True):
        first = chunk.line - 1
        end = len(sampled) if following is None else bisect_left(sampled, following.line - 1)
        yield replace(chunk, sampled=[line - first for line in sampled[bisect_left(sampled, first) : end]])


class Texts:
    """Reads rows by number (from 0)."""

    def __init__(self, path: Path, kind: DatasetKind, offsets: npt.NDArray[np.uint64], lines: LineNumbers) -> None:
        self._path, self._parse, self._offsets = path, parser(kind), offsets
        self.lines = lines

    def item(self, row: int) -> Item:
        with self._path.open("rb") as file:
            file.seek(int(self._offsets[row]))
            line = file.readline().decode("utf-8-sig")
        return read_row(str(self._path), row + 1, line, self._parse)

    def prompt(self, row: int) -> str:
        """An excerpt of the end of the prompt, or of the text of a row without a prompt."""
        item = self.item(row)
        text = item.prompt_text or item.best
        return excerpt(text, max(0, len(text) - 1))

    def answers(self, row: int) -> str:
        """The beginnings of the answers."""
        return " ┃ ".join(excerpt(text) for text in self.item(row).answers[:3])
