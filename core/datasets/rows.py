"""Reads the rows of a version from the blob store, by number or in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, BinaryIO

import orjson

from core.blobs import BlobStore
from core.datasets import u64
from core.datasets.damage import verify_rows
from core.datasets.row_store import index_key
from core.datasets.versions import not_ready_error
from core.errors import NotFound
from core.models import DatasetContent, DatasetVersion

_PIECE = 8192


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
    try:
        index = blobs.open(index_key(content.sha256))
    except NotFound:
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
    try:
        file = blobs.open(answer_lines_key(version.id))
    except NotFound:
        yield from ((stored, []) for stored in stream(blobs, version))
        return
    with file:
        first = 0
        for stored in stream(blobs, version):
            found = u64.read(file, first, len(stored.row["completions"]))
            first += len(found)
            yield stored, found


def lines(blobs: BlobStore, version: DatasetVersion, numbers: Sequence[int]) -> list[int]:
    """The line of each of these rows in the source."""
    try:
        file = blobs.open(lines_key(version.id))
    except NotFound:
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
    """Write the row offsets of a content of an older release. Does nothing if they exist."""
    if blobs.exists(index_key(content.sha256)):
        return
    verify_rows(blobs, content)
    with blobs.open(content.blob_key) as file, blobs.draft(index_key(content.sha256)) as draft:
        start, starts = 0, []
        for line in file:
            starts.append(start)
            start += len(line)
            if len(starts) == _PIECE:
                draft.write(u64.packed(starts))
                starts = []
        draft.write(u64.packed(starts))
        draft.keep()


def _scan(blobs: BlobStore, content: DatasetContent, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    wanted = set(numbers)
    with blobs.open(content.blob_key) as file:
        for number, line in enumerate(islice(file, max(wanted)), 1):
            if number in wanted:
                yield orjson.loads(line)


def _start(blobs: BlobStore, content: DatasetContent, file: BinaryIO, number: int) -> int:
    """The offset of a row in bytes; after the last row, the size of the file."""
    try:
        with blobs.open(index_key(content.sha256)) as index:
            return next(iter(u64.read(index, number - 1, 1)), content.bytes)
    except NotFound:
        return sum(len(line) for line in islice(file, number - 1))


def _all_lines(blobs: BlobStore, version: DatasetVersion, after: int) -> Iterator[int]:
    try:
        file = blobs.open(lines_key(version.id))
    except NotFound:
        yield from count(after + 1)
        return
    with file:
        while piece := u64.read(file, after, _PIECE):
            yield from piece
            after += len(piece)
