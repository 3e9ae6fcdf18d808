"""Reads CSV: a header, then records whose quoted fields may span lines."""

import csv
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from data.errors import RowError
from data.files.cells import Cells, Missing
from data.files.encodings import Hint
from data.files.records import Record
from data.files.streams import Limits
from data.findings import unusable

_DELIMITERS = ",\t;|"
_SNIFFED = 20
"""Records that the delimiter is detected from."""
_AGAIN = 16
"""Most bytes that are read again because of unmatched quotes, as a multiple of the longest record."""


def read(  # three of them receive what is found
    file: BinaryIO,
    separator: str,
    limits: Limits,
    notes: list[str],
    hint: Hint,
    header: Callable[[list[str]], None],
    missing: Missing,
) -> Iterator[Record]:
    """Records with the line where each begins. An empty field, and a word for a missing value, is None.

    `notes` receives remarks on unusual properties of the file, `header` the names of its columns, and `missing` those words.
    `hint` follows "is not UTF-8" in errors. Raises UnusableFile for a header that cannot be used, and for a record that never ends.
    """
    # The library's own limit is one for the whole process. Ours, which is looked at line by line, is never above it.
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes + 2))
    lines = _RecordLines(file, limits.line_bytes, hint)
    rows = csv.reader(lines, delimiter=separator, strict=True)
    names: list[str] | None = None
    cells = Cells((), notes, missing)
    while True:
        lines.begin()
        try:
            row = next(rows, None)
        except csv.Error as error:
            bad = RowError(f"has quotes that do not fit together: {error}", code="bad_quotes")
            if names is None:
                raise _no_header(bad, lines.first, hint) from error
            yield lines.first, bad, None
            lines.again()
            continue
        if row is None:
            return
        if not row:
            continue
        if names is None:
            if lines.first == 1 and lines.names_separator():
                continue
            if lines.bad is not None:
                raise _no_header(lines.bad, lines.first, hint)
            names = _header(row, limits)
            cells = Cells(names, notes, missing)
            header([name for name in names if name])
            continue
        yield lines.first, _record(names, row, lines, cells), None
        if len(row) != len(names) and lines.holds_others(len(names), separator):
            lines.again()


_SEPARATOR = re.compile(rb'"?sep=([!-~\t])"?\r?\n', re.IGNORECASE)
"""Excel's first line that names the separator."""


def delimiter(head: bytes) -> str:
    """The delimiter: the sign that splits the first records into equal numbers of fields, and into the most."""
    if (named := _SEPARATOR.match(head)) is not None:
        return named[1].decode()
    lines = head.decode(errors="replace").splitlines(keepends=True)
    lines = lines[:-1] or lines

    def rating(sign: str) -> tuple[float, int]:
        rows = [row for _, row in zip(range(_SNIFFED), csv.reader(lines, delimiter=sign), strict=False) if row]
        width = len(rows[0]) if rows else 1
        return (sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0, width)

    try:
        return max(_DELIMITERS, key=rating)
    except csv.Error:
        return ","


class _RecordLines:
    """The lines of a file as text, record by record. `first` is the number of the current record's first line."""

    def __init__(self, file: BinaryIO, limit: int, hint: Hint) -> None:
        self._file, self._limit, self._hint = file, limit, hint
        self._number = self._size = self._repeated = 0
        self._record: list[bytes] = []
        self._waiting: list[bytes] = []
        """Lines to read again before the file continues, the next one last."""
        self.first = 0
        self.bad: RowError | None = None
        """The error in the bytes of the current record, or None."""

    def begin(self) -> None:
        """Start a new record after the lines that were read."""
        self.first, self._size, self._record, self.bad = self._number + 1, 0, [], None

    def names_separator(self) -> bool:
        """Whether the current record is Excel's line `sep=;`."""
        return _SEPARATOR.fullmatch(self._record[0]) is not None

    def holds_others(self, width: int, separator: str) -> bool:
        """Whether most lines of the current record, without its first, have as many fields as a record should."""
        rest = self._record[1:]
        return 2 * sum(line.count(separator.encode()) == width - 1 for line in rest) > len(rest)

    def again(self) -> None:
        """Return to the second line of the current record, because an unclosed quote contains the records after it.

        Raises UnusableFile if this happens so often that reading would take too long.
        """
        back = self._record[1:]
        self._repeated += sum(map(len, back))
        if self._repeated > _AGAIN * self._limit:
            detail = (
                f"Quotes do not fit together in too many places, the last of them in the record of line {self.first}"
            )
            raise unusable(
                "bad_quotes", f"{detail}: write the file with a quote before and behind each field.", self.first
            )
        self._waiting += reversed(back)
        self._number -= len(back)

    def __iter__(self) -> "_RecordLines":
        return self

    def __next__(self) -> str:
        line = self._waiting.pop() if self._waiting else self._file.readline(self._limit + 2)
        if not line:
            raise StopIteration
        self._record.append(line)
        self._number += 1
        self._size += len(line)
        if self._size > self._limit + 2 or (len(line) > self._limit and not line.endswith(b"\n")):
            raise self._too_long()
        if b"\0" in line:
            self.bad = RowError("holds a NUL character", code="bad_characters")
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            place = f"byte 0x{line[error.start]:02x} in line {self._number}"
            self.bad = RowError(f"is not UTF-8: {place}{self._hint(line)}", code="not_utf8")
            return line.decode(errors="replace")

    def _too_long(self) -> Exception:
        detail = f"The record that begins in line {self.first} is longer than {self._limit} bytes"
        hint = "; a quote that opens there may have no end." if self._number > self.first else "."
        return unusable("line_too_long", detail + hint, self.first)


def _no_header(bad: RowError, line: int, hint: Hint) -> Exception:
    named = {"encodings": hint.names(None)} if bad.code == "not_utf8" else {}
    return unusable("no_header", f"The first line, which names the columns, {bad.detail}.", line, **named)


def _header(row: list[str], limits: Limits) -> list[str]:
    names = [name.strip() for name in row]
    if len(names) > limits.columns:
        raise unusable("too_many_columns", f"The file has {len(names)} columns; {limits.columns} are allowed.", 1)
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise unusable("duplicate_columns", f"The column {name[:100]!r} is there twice.", 1)
        seen.add(name)
    if not any(names):
        raise unusable("no_header", "The first line must name the columns.", 1)
    return names


def _record(names: list[str], row: list[str], lines: _RecordLines, cells: Cells) -> dict[str, Any] | RowError:
    if lines.bad is not None:
        return lines.bad
    if len(row) != len(names):
        return RowError(f"has {len(row)} fields; the header has {len(names)}", code="wrong_field_count")
    try:
        return {name: cells.value(name, cell, lines.first) for name, cell in zip(names, row, strict=True) if name}
    except RowError as bad:
        return bad
