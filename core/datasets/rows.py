"""Reads the rows of a version from the blob store, by number or in order."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, BinaryIO

import orjson

from core.blobs import BlobStore
from core.datasets import number_files, u64
from core.datasets.damage import verify_rows
from core.datasets.row_store import INDEX, index_key
from core.datasets.versions import not_ready_error
from core.errors import DatasetDamaged
from core.models import DatasetContent, DatasetVersion

LINES, ANSWER_LINES = "lines", "answer_lines"
"""The names of the line numbers in a version's `number_files`."""
_PIECE = 8192
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredRow:
    """A row, its number from 1, and the line of the source that it came from."""

    line: int
    number: int
    row: dict[str, Any]


def read(blobs: BlobStore, content: DatasetContent, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows with these ascending numbers. The offsets find them; contents without offsets are read from the start.

    Raises DatasetDamaged.
    """
    if not numbers:
        return
    verify_rows(blobs, content)
    index = _index(blobs, content)
    if index is None:
        yield from _scan(blobs, content, numbers)
        return
    with index, blobs.open(content.blob_key) as file:
        for number in numbers:
            (start,) = u64.read(index, number - 1, 1)
            file.seek(start)
            yield orjson.loads(file.readline())


def read_stored(blobs: BlobStore, version: DatasetVersion, numbers: Sequence[int]) -> Iterator[StoredRow]:
    """The rows with these ascending numbers, with their lines in the source."""
    content = content_of(version)
    for line, number, row in zip(lines(blobs, version, numbers), numbers, read(blobs, content, numbers), strict=True):
        yield StoredRow(line, number, row)


def stream(blobs: BlobStore, version: DatasetVersion, after: int = 0) -> Iterator[StoredRow]:
    """Every row after number `after`, one at a time. Raises DatasetDamaged before the first one."""
    content = content_of(version)
    verify_rows(blobs, content)
    with blobs.open(content.blob_key) as file:
        if after:
            file.seek(_start(blobs, content, file, after + 1))
        for line, number in zip(_all_lines(blobs, version, after), count(after + 1), strict=False):
            if not (data := file.readline()):
                return
            yield StoredRow(line, number, orjson.loads(data))


def stream_with_answers(blobs: BlobStore, version: DatasetVersion) -> Iterator[tuple[StoredRow, list[int]]]:
    """Every row with the lines of its answers. The list is empty if answers were not records of their own."""
    file = _numbers(blobs, version, ANSWER_LINES, answer_lines_key(version.id))
    if file is None:
        yield from ((stored, []) for stored in stream(blobs, version))
        return
    with file:
        first = 0
        for stored in stream(blobs, version):
            offsets = u64.read(file, first, len(stored.row["completions"]))
            first += len(offsets)
            yield stored, offsets


def lines(blobs: BlobStore, version: DatasetVersion, numbers: Sequence[int]) -> list[int]:
    """The line of each of these rows in the source. Raises DatasetDamaged."""
    file = _numbers(blobs, version, LINES, lines_key(version.id))
    if file is None:
        return list(numbers)
    with file:
        return [u64.read(file, number - 1, 1)[0] for number in numbers]


def content_of(version: DatasetVersion) -> DatasetContent:
    """The content of a version. Raises DatasetNotReady or DatasetFailed for a version without rows."""
    if version.content is None:
        raise not_ready_error(version)
    return version.content


def lines_key(version_id: str) -> str:
    """The blob key of a version's line numbers. The blob exists if they differ from the row numbers."""
    return f"versions/{version_id}/lines.u64"


def answer_lines_key(version_id: str) -> str:
    """The blob key of the line numbers of a version's answers. The blob exists if each answer was a record of its own."""
    return f"versions/{version_id}/answer_lines.u64"


def write_index(blobs: BlobStore, content: DatasetContent) -> None:
    """Make the row offsets anew, and set their hash in the content. Raises DatasetDamaged."""
    verify_rows(blobs, content)
    key = index_key(content.sha256)
    with blobs.open(content.blob_key) as file, blobs.draft(key) as draft:
        start, starts = 0, []
        for line in file:
            starts.append(start)
            start += len(line)
            if len(starts) == _PIECE:
                draft.write(u64.packed(starts))
                starts = []
        draft.write(u64.packed(starts))
        draft.keep()
    content.number_files = {INDEX: number_files.sum_of(blobs, key)}


def _scan(blobs: BlobStore, content: DatasetContent, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    wanted = set(numbers)
    with blobs.open(content.blob_key) as file:
        for number, line in enumerate(islice(file, max(wanted)), 1):
            if number in wanted:
                yield orjson.loads(line)


def _start(blobs: BlobStore, content: DatasetContent, file: BinaryIO, number: int) -> int:
    """The offset of a row in bytes; after the last row, the size of the file."""
    index = _index(blobs, content)
    if index is None:
        return sum(len(line) for line in islice(file, number - 1))
    with index:
        return next(iter(u64.read(index, number - 1, 1)), content.bytes)


def _index(blobs: BlobStore, content: DatasetContent) -> BinaryIO | None:
    """The offsets of the rows. None where they are missing, damaged or without a hash: rows are then read from the start."""
    key = index_key(content.sha256)
    try:
        return blobs.open(key) if number_files.is_stored(blobs, key, content.number_files or {}, INDEX) else None
    except DatasetDamaged as error:
        log.warning("rows are read without their offsets: %s", error.detail)
        return None


def _numbers(blobs: BlobStore, version: DatasetVersion, name: str, key: str) -> BinaryIO | None:
    return blobs.open(key) if number_files.is_stored(blobs, key, version.number_files, name) else None


def _all_lines(blobs: BlobStore, version: DatasetVersion, after: int) -> Iterator[int]:
    file = _numbers(blobs, version, LINES, lines_key(version.id))
    if file is None:
        yield from count(after + 1)
        return
    with file:
        while piece := u64.read(file, after, _PIECE):
            yield from piece
            after += len(piece)
