"""Brings an upload's bytes from elsewhere: into parts, as if somebody had sent them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from core.blobs import Draft
from core.db import session_scope
from core.errors import DiskFull, FetchFailed, LeaseLost, NotFound, PlatformError, TooLarge
from core.models import Upload
from core.tasks import TaskCancelled
from core.uploads import fetching, get, parts
from worker.downloads import Source, opened
from worker.process import AWAY
from worker.tasks.context import TaskRun
from worker.tasks.lease import Stopping

_MIB = 1024 * 1024


def run(task: TaskRun) -> None:
    """From the beginning, whatever an earlier try has brought. What fails is told in the upload as well."""
    try:
        with _writing(task) as session:
            upload = fetching.begin(session, task.blobs, task.owner_id, task.args["upload"])
        if upload is not None:
            _fetch(task, upload)
    except (LeaseLost, NotFound, TaskCancelled, Stopping, *AWAY, OSError):
        raise  # another has it now, nobody wants it any more, or there is another try
    except PlatformError as error:
        _fail(task, error)
        raise
    except Exception:
        _fail(task, FetchFailed(f"Nobody expected this: look for {task.task_id} in the data worker's log."))
        raise


def _fail(task: TaskRun, error: PlatformError) -> None:
    with _writing(task) as session:
        upload = get(session, task.owner_id, task.args["upload"], lock=True)
        fetching.fail(session, task.blobs, upload, error)


@contextmanager
def _writing(task: TaskRun) -> Iterator[Session]:
    """A transaction that stands only if the task is still ours at its end: else another worker writes the same upload.

    The task is locked last, since whoever deletes an upload locks the upload first.
    """
    with session_scope() as session:
        yield session
        session.flush()
        task.require_held(session)


def _fetch(task: TaskRun, upload: Upload) -> None:
    assert upload.url is not None
    wanted = fetching.allowed_place(upload.url, task.settings)
    with opened(wanted, task.settings) as source:
        _refuse_size(task, source)
        name = source.name if upload.filename == fetching.name_of(wanted) else None
        with _writing(task) as session:
            fetching.describe(session, task.owner_id, upload.id, source.size, name)
        size, sha256 = _store(task, upload, source)
    with _writing(task) as session:
        fetching.end(session, task.owner_id, upload.id, size, sha256)


def _refuse_size(task: TaskRun, source: Source) -> None:
    """Before a byte is read, where the size is told."""
    free = task.blobs.free_bytes()
    if source.size == 0:
        raise FetchFailed("The file is empty.")
    if source.size is not None and source.size > task.settings.max_upload_bytes:
        raise _too_large(task)
    if source.size is not None and free is not None and source.size > free:
        raise DiskFull(f"The file has {source.size} bytes; the platform's disk has room for {free}.")


def _store(task: TaskRun, upload: Upload, source: Source) -> tuple[int, str]:
    """Size and SHA-256 of what was stored, part by part."""
    flow = _Flow(task, source)
    number = 0
    while not flow.ended:
        number += 1
        with task.blobs.draft(parts.key(upload.id, number)) as draft:
            size = flow.fill(draft, upload.part_bytes)
            if not size:
                break
            draft.settle()
            flow.tell()  # raises if the task is another's by now
            draft.keep()
        with _writing(task) as session:
            fetching.add_part(session, get(session, task.owner_id, upload.id, lock=True), number, size)
    if source.size not in (None, flow.came):
        raise FetchFailed(f"The file should have {source.size} bytes; {flow.came} came.")
    if not flow.came:
        raise FetchFailed("The file is empty.")
    return flow.came, flow.sum.hexdigest()


class _Flow:
    """A source's pieces, cut where parts end."""

    def __init__(self, task: TaskRun, source: Source) -> None:
        self._task, self._total = task, source.size
        self._pieces: Iterator[bytes] = source.pieces
        self._rest = b""
        self.came = 0
        self.ended = False
        self.sum = hashlib.sha256()

    def fill(self, draft: Draft, most: int) -> int:
        """Write up to `most` bytes into the draft; how many came."""
        filled = 0
        while filled < most:
            piece = self._rest or next(self._pieces, b"")
            if not piece:
                self.ended = True
                break
            now, self._rest = piece[: most - filled], piece[most - filled :]
            draft.write(now)
            self.sum.update(now)
            filled += len(now)
            self.came += len(now)
            if self.came > self._task.settings.max_upload_bytes:
                raise _too_large(self._task)
            self.tell()
        return filled

    def tell(self) -> None:
        total = "" if self._total is None else f" of {self._total // _MIB}"
        self._task.tell(self.came / self._total if self._total else 0.0, f"{self.came // _MIB}{total} MiB fetched")


def _too_large(task: TaskRun) -> TooLarge:
    return TooLarge(f"The file is larger than the {task.settings.max_upload_bytes} bytes that are allowed.")
