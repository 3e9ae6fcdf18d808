"""JSON that is not one object a line: an array of objects, one object, or several one after the other.

The text is cut at its brackets, record by record, so that neither a large array has to fit into memory nor one bad record
hides the others; each piece is then parsed as a line would be.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from core.datasets.containers.records import Record
from core.datasets.findings import unusable
from core.datasets.limits import Limits
from core.datasets.line_json import BadLine, parse

_CHUNK = 1024**2
# Whole strings, so that no bracket inside one counts; a quote that begins a string which is not here to its end; brackets
# and commas.
_MARK = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|(")|([\[{])|([\]}])|(,)', re.DOTALL)
_STRING, _OPEN_STRING, _OPEN, _CLOSE, _COMMA = range(1, 6)


def read(file: BinaryIO, limits: Limits) -> Iterator[Record]:
    """Records with their index, from 1. Raises InvalidDataset where the text ends too early or a record is too long."""
    for number, piece in enumerate(_pieces(file, limits), 1):
        try:
            yield number, parse(piece, limits), piece
        except BadLine as bad:
            # A column of a record that spans lines would be that of its own lines, not of the file's.
            yield number, BadLine(bad.detail, None, bad.pointer, bad.code), piece


class _Cutter:
    """Where in the text we are. `base` is the depth at which records lie: 1 in an array, otherwise 0."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.depth = self.base = 0
        self.count = 0
        self.text = b""
        self.start = 0
        """Where the present record begins in `text`."""
        self.looked = 0
        """Up to where `text` was looked at."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The records that end in this piece of the text."""
        self.text, self.looked = self.text[self.start :] + data, self.looked - self.start
        self.start = 0
        looked = len(self.text)
        for mark in _MARK.finditer(self.text, self.looked):
            kind = mark.lastindex
            if kind == _STRING:
                continue
            if kind == _OPEN_STRING:
                looked = mark.start()
                break
            if kind == _OPEN:
                if self.depth == 0 and mark[0] == b"[":
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
            raise self._too_long()

    def _closed(self, mark: re.Match[bytes]) -> Iterator[bytes]:
        """Behind a bracket that ends an array of records, or a record that stands by itself."""
        if self.depth < self.base or self.depth < 0:
            yield from self._between(mark.start() if self.base else mark.end(), mark.end())
            self.base = self.depth = 0
        elif self.depth == 0:
            yield from self._between(mark.end(), mark.end())

    def _between(self, end: int, start: int) -> Iterator[bytes]:
        """What lies between two separators, unless it is blank. `start`: where the next one may begin."""
        piece, self.start = self.text[self.start : end].strip(), start
        if len(piece) > self.limits.line_bytes:
            raise self._too_long()
        if piece:
            self.count += 1
            yield piece

    def rest(self) -> Iterator[bytes]:
        """At the end of the file. InvalidDataset if something is still open."""
        if self.depth > 0 or self.looked < len(self.text):
            line = self.count + 1
            raise unusable("truncated", f"The JSON ends too early, at record {line}: the file was cut off.", line)
        yield from self._between(len(self.text), len(self.text))

    def _too_long(self) -> Exception:
        line = self.count + 1
        detail = f"Record {line} of the JSON is longer than {self.limits.line_bytes} bytes. Write one object a line, or an array of objects."
        return unusable("line_too_long", detail, line)


def _pieces(file: BinaryIO, limits: Limits) -> Iterator[bytes]:
    cutter = _Cutter(limits)
    while data := file.read(_CHUNK):
        yield from cutter.feed(data)
    yield from cutter.rest()
