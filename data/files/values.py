"""Reads JSON that is not one object a line: an array of objects, one object, or several objects in sequence.

A record has the number of the line where it begins. If two records begin in one line, all records are numbered from 1
instead. The text is cut at its brackets, and each piece is parsed like a line. So a large array need not fit into
memory, and one bad record does not hide the others.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice, takewhile
from typing import BinaryIO

from data.errors import RowError
from data.files.records import Parser, Record
from data.files.streams import Limits
from data.findings import unusable

_CHUNK = 1024**2
# Whole strings, so that no bracket inside one counts; a quote that begins a string which is not here to its end; brackets
# and commas.
_MARK = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|(")|([\[{])|([\]}])|(,)', re.DOTALL)
_STRING, _OPEN_STRING, _OPEN, _CLOSE, _COMMA = range(1, 6)


def read(
    file: BinaryIO,
    limits: Limits,
    notes: list[str],
    talks: bool = False,
    line: int = 1,
    after: Callable[[bytes], None] | None = None,
) -> Iterator[Record]:
    """Records with their lines or numbers.

    `notes` receives remarks on unusual properties of the file. `talks` means that an array is one conversation. The text
    begins in `line` of the file. `after` means that it begins with an array, which holds all records: `after` receives
    the text behind the array, of which one byte more than the longest line suffices. Raises UnusableFile if the text ends
    too early or a record is too long.
    """
    parser, cutter = Parser(limits, notes), _Cutter(limits, talks, line, alone=after is not None)
    pieces = _pieces(file, cutter, after)
    first = list(islice(pieces, 2))  # after which it is known how records are counted
    for number, (line, piece) in enumerate(chain(first, pieces), 1):
        place = number if cutter.numbered else line
        try:
            yield place, parser.parse(place, piece), piece
        except RowError as bad:
            # A column of a record that spans lines would be that of its own lines, not of the file's.
            yield place, RowError(bad.detail, None, bad.pointer, bad.code), piece


Piece = tuple[int, bytes]
"""The text of a record, and the line in which it begins."""


class _Cutter:
    """The position in the text. `base` is the depth of records: 1 in an array of records, otherwise 0."""

    def __init__(self, limits: Limits, talks: bool, line: int = 1, alone: bool = False) -> None:
        self.limits, self.talks, self.alone = limits, talks, alone
        self.over = False
        """Whether the array that is `alone` has ended. The text from `start` on is behind it."""
        self.depth = self.base = 0
        self.count = 0
        self.first = 0
        """The line of the first record."""
        self.numbered = False
        """Whether the second record begins in the line of the first."""
        self.text = b""
        self.start, self.line = 0, line
        """The start of the current record in `text`, or of white space before it, and its line."""
        self.looked = 0
        """The end of the examined part of `text`."""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The records that end in this piece of the text. Keeps the rest for the next piece."""
        self.text, self.looked = self.text[self.start :] + data, self.looked - self.start
        self.start = 0
        looked = len(self.text)
        for mark in takewhile(lambda _: not self.over, _MARK.finditer(self.text, self.looked)):
            kind = mark.lastindex
            if kind == _STRING:
                continue
            if kind == _OPEN_STRING:
                looked = mark.start()
                break
            if kind == _OPEN:
                if self.depth == 0 and mark[0] == b"[" and not self.talks:
                    yield from self._between(mark.start(), mark.end())
                    self.base = 1
                self.depth += 1
            elif kind == _CLOSE:
                self.depth -= 1
                if self.depth <= self.base:
                    yield from self._closed(mark)
            elif self.depth == self.base:
                yield from self._between(mark.start(), mark.end())
        self.looked = looked
        if len(self.text) - self.start > self.limits.line_bytes + _CHUNK:
            raise self._too_long(_begins(self.text[self.start :], self.line))

    def _closed(self, mark: re.Match[bytes]) -> Iterator[Piece]:
        """Handle a bracket that ends an array of records, or a record outside an array."""
        if self.depth < self.base or self.depth < 0:
            yield from self._between(mark.start() if self.base else mark.end(), mark.end())
            self.base = self.depth = 0
            self.over = self.alone
        elif self.depth == 0:
            yield from self._between(mark.end(), mark.end())

    def _between(self, end: int, start: int) -> Iterator[Piece]:
        """The record between two separators, unless it is blank. `start` is where the next one may begin."""
        whole, line = self.text[self.start : end], self.line
        self.line += self.text.count(b"\n", self.start, start)
        self.start = start
        piece = whole.strip()
        if len(piece) > self.limits.line_bytes:
            raise self._too_long(_begins(whole, line))
        if piece:
            begin = _begins(whole, line)
            self.count += 1
            self.first = self.first or begin
            self.numbered |= self.count == 2 and begin == self.first
            yield begin, piece

    def rest(self) -> Iterator[Piece]:
        """Finish the file. Raises UnusableFile if a bracket is still open."""
        if self.depth > 0 or self.looked < len(self.text):
            record, place = self.count + 1, self._place(_begins(self.text[self.start :], self.line))
            raise unusable("truncated", f"The JSON ends too early, at record {record}: the file was cut off.", place)
        yield from self._between(len(self.text), len(self.text))

    def _place(self, line: int) -> int:
        """The number of the next record, which begins in this line."""
        numbered = self.numbered or (self.count == 1 and line == self.first)
        return self.count + 1 if numbered else line

    def _too_long(self, line: int) -> Exception:
        size = self.limits.line_bytes
        detail = f"Record {self.count + 1} of the JSON is longer than {size} bytes. Write one object a line, or an array of objects."
        return unusable("line_too_long", detail, self._place(line))


def _begins(text: bytes, line: int) -> int:
    """The line of the first character that is not white space, for a text that begins in `line`."""
    first = text.lstrip()[:1]
    return line + text.count(b"\n", 0, text.index(first)) if first else line


def _pieces(file: BinaryIO, cutter: _Cutter, after: Callable[[bytes], None] | None) -> Iterator[Piece]:
    while data := file.read(_CHUNK):
        yield from cutter.feed(data)
        if after is not None and cutter.over:
            after(cutter.text[cutter.start :] + file.read(cutter.limits.line_bytes + 1))
            return
    yield from cutter.rest()
