"""Stores rows as canonical JSONL under their hash, once for all versions that hold them.

A content's row and its blobs are made and removed under an advisory lock of the hash, which is held until the end of the
transaction. So a concurrent transaction that stores the same rows finds those of the first, and a removal cannot delete
rows that were just stored.
"""

import hashlib
import logging
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets import number_files
from core.datasets.u64 import NumberWriter
from core.db import after_commit, session_scope
from core.errors import DiskFull, NotFound
from core.models import DatasetContent, DatasetVersion
from data.errors import disk_full_raises

_ABANDONED_SECONDS = 24 * 3600
_PREFIX = "draft-"
INDEX = "rows"
"""The name of the offsets in `number_files`."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RowsDraft:
    """Rows in a scratch folder, not yet stored."""

    folder: Path
    rows: int
    bytes: int
    sha256: str
    own_lines: bool
    """Whether line numbers of the source differ from row numbers."""
    own_answer_lines: bool
    """Whether each answer of a row was a record of its own in the source."""

    @property
    def rows_file(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def index_file(self) -> Path:
        """The offset of each row in bytes."""
        return self.folder / "rows.u64"

    @property
    def lines_file(self) -> Path:
        """The line of the source that each row came from."""
        return self.folder / "lines.u64"

    @property
    def answer_lines_file(self) -> Path:
        """The line of the source that each answer came from, row after row."""
        return self.folder / "answer_lines.u64"


class RowWriter:
    """Writes a draft row by row, without keeping rows in memory. `drafting` makes one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sha256 = hashlib.sha256()
        self._own_lines, self._own_answer_lines = False, True
        self.rows = 0
        self.bytes = 0
        names = ("rows.jsonl", "rows.u64", "lines.u64", "answer_lines.u64")
        self._files = [(folder / name).open("wb") for name in names]
        self._out = self._files[0]
        self._index, self._lines, self._answer_lines = map(NumberWriter, self._files[1:])

    def add(self, line: int, row: dict[str, Any], answer_lines: Sequence[int] = ()) -> None:
        """Write a canonical row. `line` and `answer_lines` are its lines in the source.

        `answer_lines` are stored only if every row has them.
        """
        data = orjson.dumps(row) + b"\n"
        self._index.add(self.bytes)
        self._lines.add(line)
        for number in answer_lines:
            self._answer_lines.add(number)
        self._own_answer_lines &= bool(answer_lines)
        self.rows += 1
        self.bytes += len(data)
        self._own_lines |= line != self.rows
        self._sha256.update(data)
        self._out.write(data)

    def finish(self) -> RowsDraft:
        """Close the files. Returns the draft, which may have no rows."""
        for numbers in (self._index, self._lines, self._answer_lines):
            numbers.flush()
        self.close()
        own = self._own_lines, self._own_answer_lines
        return RowsDraft(self._folder, self.rows, self.bytes, self._sha256.hexdigest(), *own)

    def close(self) -> None:
        for file in self._files:
            file.close()


@contextmanager
def drafting(scratch: Path) -> Iterator[RowWriter]:
    """A writer in a temporary folder below `scratch`, which is removed at the end of the block. Raises DiskFull."""
    scratch.mkdir(parents=True, exist_ok=True)
    _clear_abandoned(scratch)
    with disk_full_raises(DiskFull), tempfile.TemporaryDirectory(dir=scratch, prefix=_PREFIX) as folder:
        out = RowWriter(Path(folder))
        try:
            yield out
        finally:
            out.close()


def put(session: Session, blobs: BlobStore, draft: RowsDraft) -> DatasetContent:
    """Store the draft's rows. Returns their content, which may exist already. Damaged rows are stored anew.

    It holds the lock of the hash until the end of the transaction, so call it late. Raises DiskFull.
    """
    lock(session, draft.sha256)
    query = select(DatasetContent).filter_by(sha256=draft.sha256).execution_options(populate_existing=True)
    if (row := session.scalars(query).one_or_none()) is not None:
        if row.damage is not None or row.number_files is None or not _has_size(blobs, row):
            row.number_files = _put(blobs, draft, row.blob_key)
            row.damage = row.damaged_at = None
            session.flush()
        return row
    key = rows_key(draft.sha256)
    content = DatasetContent(sha256=draft.sha256, rows=draft.rows, bytes=draft.bytes, blob_key=key)
    content.number_files = _put(blobs, draft, key)
    session.add(content)
    session.flush()
    return content


def _has_size(blobs: BlobStore, content: DatasetContent) -> bool:
    try:
        return blobs.stamp(content.blob_key)[0] == content.bytes
    except NotFound:
        return False


def _put(blobs: BlobStore, draft: RowsDraft, key: str) -> dict[str, Any]:
    """Write the blobs of a draft. Returns the hash of the offsets. The blobs are removed again if the disk is full.

    After other failures, the sweeper removes them: the lock may have been lost with the database connection, and then another
    transaction may own the blobs.
    """
    try:
        blobs.put_file(key, draft.rows_file)
        return {INDEX: number_files.put(blobs, index_key(draft.sha256), draft.index_file)}
    except (OSError, DiskFull):
        blobs.delete_prefix(_folder(draft.sha256))
        raise


def release(session: Session, blobs: BlobStore, sums: Iterable[str]) -> None:
    """Delete the contents without a version, and their blobs after the commit."""
    for sha256 in sorted(set(sums)):
        lock(session, sha256)
        if session.scalars(select(DatasetVersion.id).filter_by(sha256=sha256).limit(1)).first() is not None:
            continue
        content = session.get(DatasetContent, sha256, populate_existing=True)
        if content is not None:
            key = content.blob_key
            session.delete(content)
            session.flush()
            after_commit(session, partial(_remove_after_commit, blobs, sha256, key))


def remove_orphan(session: Session, blobs: BlobStore, sha256: str, key: str | None = None) -> bool:
    """Remove the blobs of a hash without a content, and the blob `key`. Returns False if the content exists."""
    lock(session, sha256)
    if session.get(DatasetContent, sha256, populate_existing=True) is not None:
        return False
    blobs.delete_prefix(_folder(sha256))
    if key is not None:
        blobs.delete(key)
    return True


def lock(session: Session, sha256: str) -> None:
    """Serialise transactions that make or remove the content of this hash, until the end of this transaction."""
    number = int.from_bytes(bytes.fromhex(sha256)[:8], "big", signed=True)
    session.execute(select(func.pg_advisory_xact_lock(number)))


def rows_key(sha256: str) -> str:
    """The blob key of new rows. Contents from before versions existed have another one: `DatasetContent.blob_key`."""
    return f"{_folder(sha256)}/rows.jsonl"


def index_key(sha256: str) -> str:
    """The blob key of the row offsets. Contents of older releases have none until they are indexed."""
    return f"{_folder(sha256)}/rows.u64"


def _folder(sha256: str) -> str:
    return f"contents/{sha256}"


def _remove_after_commit(blobs: BlobStore, sha256: str, key: str) -> None:
    """Remove the blobs of a deleted content. Errors are logged, and the sweeper removes the rest."""
    try:
        with session_scope() as session:
            remove_orphan(session, blobs, sha256, key)
    except (OperationalError, InterfaceError, OSError) as error:
        log.warning("could not remove the rows %s; the sweeper tries again: %s", sha256, error)


def _clear_abandoned(scratch: Path) -> None:
    """Remove temporary folders without a write for a day. Their process was killed."""
    for folder in scratch.iterdir():
        try:
            written = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
        except FileNotFoundError:  # another process removes it
            continue
        if time.time() - written > _ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
