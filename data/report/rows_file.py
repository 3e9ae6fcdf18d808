"""The file of rows: cut into chunks of whole lines, and read again where a few rows are wanted."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from data.errors import UnreadableRows
from data.report.scanned import Chunk

CHUNK = 4 * 2**20
"""Bytes of a chunk, but for the rest of its last line."""


def chunks(path: Path) -> list[Chunk]:
    """Cut it. Raises UnreadableRows for a file that cannot be read, or has no row."""
    found: list[Chunk] = []
    try:
        with path.open("rb") as file:
            offset, line, blank = 0, 1, True
            while block := file.read(CHUNK) + file.readline():
                found.append(Chunk(offset, len(block), line))
                offset, line = offset + len(block), line + block.count(b"\n")
                blank = blank and not block.strip(b"\xef\xbb\xbf \t\r\n")
    except OSError as error:
        raise UnreadableRows(f"{path}: {error.strerror}.") from error
    if blank:
        raise UnreadableRows(f"{path}: the file is empty: it has no row.")
    return found


def lines_in(path: Path, cut: Sequence[Chunk]) -> int:
    """How many lines there are, the last one with or without its line break."""
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
