"""The record type of all file readers, and the reader of JSON Lines."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from data.errors import RowError
from data.files.cells import unpack
from data.files.json_records import object_end, parse_record
from data.files.streams import Limits

Record = tuple[int, dict[str, Any] | RowError, bytes | None]
"""The line in the source, the value or the error, and the record's bytes if the container has them."""


class Parser:
    """The records of one file whose texts are JSON."""

    def __init__(self, limits: Limits, notes: list[str]) -> None:
        """`notes` receives remarks on unusual properties of the file."""
        self._limits, self._notes = limits, notes
        self._line = 0
        self._nan = False

    def parse(self, line: int, text: bytes) -> dict[str, Any]:
        """The record as an object. A text that holds a conversation as JSON is replaced by it. Raises RowError."""
        self._line = line
        record = parse_record(text, self._limits, self._note_nan)
        unpack(record)
        return record

    def _note_nan(self) -> None:
        if not self._nan:
            self._nan = True
            self._notes.append(f"NaN, which JSON does not have, was read as null, first in line {self._line}.")


def shown(record: Record, characters: int) -> str:
    """The beginning of a record, for users."""
    _, value, raw = record
    if raw is not None:
        text = raw[: 4 * characters].decode(errors="replace")
    else:
        text = "" if isinstance(value, RowError) else compact(value)
    return text[:characters].replace("\0", "\N{REPLACEMENT CHARACTER}")


def compact(value: Any) -> str:
    """Any value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def read_lines(file: BinaryIO, limits: Limits, notes: list[str]) -> Iterator[Record]:
    """Records of the lines that are not blank, with line numbers. One line is in memory at a time. `notes` receives remarks
    on unusual properties of the file."""
    parser, noted = Parser(limits, notes), False
    for number, line in _lines(file, limits.line_bytes):
        try:
            yield number, parser.parse(number, line), line
        except RowError as bad:
            several = _objects(line) if bad.code == "not_json" else []
            if not several:
                yield number, bad, line
                continue
            if not noted:
                notes.append(f"Line {number} holds {len(several)} objects, one behind the other. Each is a record.")
                noted = True
            yield from _in_line(number, line, several, parser)


def _objects(line: bytes) -> list[tuple[int, int]]:
    """Begin and end of each object on a line that holds two or more objects and nothing else, otherwise nothing."""
    spans: list[tuple[int, int]] = []
    end = 0
    while rest := line[end:].lstrip():
        begin = len(line) - len(rest)
        length = object_end(rest) if rest.startswith(b"{") else None
        if length is None:
            return []
        end = begin + length
        spans.append((begin, end))
    return spans if len(spans) > 1 else []


def _in_line(number: int, line: bytes, objects: list[tuple[int, int]], parser: "Parser") -> Iterator[Record]:
    for begin, end in objects:
        try:
            yield number, parser.parse(number, line[begin:end]), line[begin:end]
        except RowError as bad:
            column = None if bad.column is None else len(line[:begin].decode(errors="replace")) + bad.column
            yield number, RowError(bad.detail, column, bad.pointer, bad.code), line[begin:end]


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers. A line that is too long is cut one byte beyond the limit."""
    number = 0
    while line := file.readline(limit + 2):
        number += 1
        rest = line
        while len(rest) > limit + 1 and not rest.endswith(b"\n"):
            rest = file.readline(limit + 2)
        line = line.rstrip(b"\r\n") if line.endswith((b"\n", b"\r")) else line
        if line.strip():
            yield number, line[: limit + 1]
