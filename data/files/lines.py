"""JSON Lines: one object a line."""

from collections.abc import Iterator
from typing import BinaryIO

from data.errors import RowError
from data.files.records import Parser, Record
from data.limits import Limits


def read(file: BinaryIO, limits: Limits, notes: list[str]) -> Iterator[Record]:
    """Lines that are not blank, with their numbers. Never more than one in memory. `notes`: where to say what is unusual."""
    parser = Parser(limits, notes)
    for number, line in _lines(file, limits.line_bytes):
        try:
            yield number, parser.parse(number, line), line
        except RowError as bad:
            yield number, bad, line


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Of a line that is too long, only its beginning, one byte beyond the limit."""
    number = 0
    while line := file.readline(limit + 2):
        number += 1
        rest = line
        while len(rest) > limit + 1 and not rest.endswith(b"\n"):
            rest = file.readline(limit + 2)
        line = line.rstrip(b"\r\n") if line.endswith((b"\n", b"\r")) else line
        if line.strip():
            yield number, line[: limit + 1]
