"""Rows as they are stored: canonical JSONL, once however many versions hold them, found by their sum.

A content's row and its blobs are made and removed under one advisory lock of the sum, held to the end of the
transaction. So a concurrent transaction that stores the same rows finds those of the first, and a
removal cannot delete rows that were just stored.
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
from core.datasets.u64 import Numbers
from core.db import after_commit, session_scope
from core.disk import disk_full_errors
from core.errors import DiskFull
from core.models import DatasetContent, DatasetVersion

_ABANDONED_SECONDS = 24 * 3600
_PREFIX = "draft-"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Draft:
    """Rows in a scratch folder, not yet stored."""

    folder: Path
    rows: int
    bytes: int
    sha256: str
    own_lines: bool
    """Whether the numbers of the source's lines are others than those of the rows."""
    own_answer_lines: bool
    """Whether the answers of each row lie in records of their own."""

    @property
    def rows_file(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def index_file(self) -> Path:
        """Where each row begins, in bytes."""
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
    """Writes a draft, row by row; `drafting` makes one. Nothing of it stays in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sha256 = hashlib.sha256()
        self._own_lines, self._own_answer_lines = False, True
        self.rows = 0
        self.bytes = 0
        names = ("rows.jsonl", "rows.u64", "lines.u64", "answer_lines.u64")
        self._files = [(folder / name).open("wb") for name in names]
        self._out = self._files[0]
        self._index, self._lines, self._answer_lines = map(Numbers, self._files[1:])

    def add(self, line: int, row: dict[str, Any], answer_lines: Sequence[int] = ()) -> None:
        """Write one canonical row, which came from this line of the source, and its answers from those.

        `answer_lines` are kept where every row has them.
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

    def finish(self) -> Draft:
        """Everything is written. A draft without rows is not refused here; the caller checks that."""
        for numbers in (self._index, self._lines, self._answer_lines):
            numbers.flush()
        self.close()
        own = self._own_lines, self._own_answer_lines
        return Draft(self._folder, self.rows, self.bytes, self._sha256.hexdigest(), *own)

    def close(self) -> None:
        for file in self._files:
            file.close()


@contextmanager
def drafting(scratch: Path) -> Iterator[RowWriter]:
    """A writer in a folder of its own below `scratch`, which is gone behind the block."""
    scratch.mkdir(parents=True, exist_ok=True)
    _clear_abandoned(scratch)
    with disk_full_errors(), tempfile.TemporaryDirectory(dir=scratch, prefix=_PREFIX) as folder:
        out = RowWriter(Path(folder))
        try:
            yield out
        finally:
            out.close()


def put(session: Session, blobs: BlobStore, draft: Draft) -> DatasetContent:
    """Store the draft's rows. Returns the content that holds them, which may exist already; its blobs are written.

    The lock of the sum is held until the transaction ends, so call it late.
    """
    lock(session, draft.sha256)
    query = select(DatasetContent).filter_by(sha256=draft.sha256).execution_options(populate_existing=True)
    if (found := session.scalars(query).one_or_none()) is not None:
        if not blobs.exists(found.blob_key):
            _put(blobs, draft, found.blob_key)
        return found
    key = rows_key(draft.sha256)
    content = DatasetContent(sha256=draft.sha256, rows=draft.rows, bytes=draft.bytes, blob_key=key)
    _put(blobs, draft, key)
    session.add(content)
    session.flush()
    return content


def _put(blobs: BlobStore, draft: Draft, key: str) -> None:
    """A disk that is full is relieved at once. After any other failure the blobs stay for the sweeper: the lock may have
    gone with the connection to the database, and then they may be another's."""
    try:
        blobs.put_file(key, draft.rows_file)
        blobs.put_file(index_key(draft.sha256), draft.index_file)
    except (OSError, DiskFull):
        blobs.delete_prefix(_folder(draft.sha256))
        raise


def release(session: Session, blobs: BlobStore, sums: Iterable[str]) -> None:
    """Forget the contents that no version holds any more; their blobs go once this is committed."""
    for sha256 in sorted(set(sums)):
        lock(session, sha256)
        if session.scalars(select(DatasetVersion.id).filter_by(sha256=sha256).limit(1)).first() is not None:
            continue
        content = session.get(DatasetContent, sha256, populate_existing=True)
        if content is not None:
            key = content.blob_key
            session.delete(content)
            session.flush()
            after_commit(session, partial(_remove_patiently, blobs, sha256, key))


def remove_orphan(session: Session, blobs: BlobStore, sha256: str, key: str | None = None) -> bool:
    """Remove the blobs of a sum that no content has, also the one at `key`; whether there was none."""
    lock(session, sha256)
    if session.get(DatasetContent, sha256, populate_existing=True) is not None:
        return False
    blobs.delete_prefix(_folder(sha256))
    if key is not None:
        blobs.delete(key)
    return True


def lock(session: Session, sha256: str) -> None:
    """Be the only one, until the transaction ends, who makes or removes the content of this sum."""
    number = int.from_bytes(bytes.fromhex(sha256)[:8], "big", signed=True)
    session.execute(select(func.pg_advisory_xact_lock(number)))


def rows_key(sha256: str) -> str:
    """Where the rows lie (but those of datasets that are older than versions lie elsewhere: see `blob_key`)."""
    return f"{_folder(sha256)}/rows.jsonl"


def index_key(sha256: str) -> str:
    """Where the beginning of each row lies; older contents have none until they are indexed."""
    return f"{_folder(sha256)}/rows.u64"


def _folder(sha256: str) -> str:
    return f"contents/{sha256}"


def _remove_patiently(blobs: BlobStore, sha256: str, key: str) -> None:
    """Behind a commit nothing may raise; what stays behind, the sweeper removes."""
    try:
        with session_scope() as session:
            remove_orphan(session, blobs, sha256, key)
    except (OperationalError, InterfaceError, OSError) as error:
        log.warning("the rows %s stay for the sweeper: %s", sha256, error)


def _clear_abandoned(scratch: Path) -> None:
    """Folders in which nothing was written for a day: of drafts, reports and whatever else needs room for a while. Their
    process was killed."""
    for folder in scratch.iterdir():
        try:
            written = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
        except FileNotFoundError:  # another process removes it
            continue
        if time.time() - written > _ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
