"""The data task `fetch`: downloads the file of an upload and stores it in parts."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from core.access.import_urls import BucketFile, HubFile, ImportSource, ServerFile, WebFile
from core.blobs import BlobDraft
from core.db import session_scope
from core.errors import DiskFull, FetchFailed, LeaseLost, NotFound, PlatformError, TooLarge
from core.models import Upload
from core.settings import Settings
from core.tasks import TaskCancelled
from core.uploads import fetching, store
from core.uploads.parts import part_key
from worker.downloads.files import RemoteFile, open_bucket_object, open_server_file
from worker.downloads.hub import find_hub_file
from worker.downloads.web import download
from worker.process import DATABASE_UNAVAILABLE
from worker.tasks.context import ReturnToQueue, TaskContext

_MIB = 1024 * 1024


def fetch_upload(task: TaskContext) -> None:
    """The task `fetch`. It starts from the beginning in each attempt. An error is stored in the upload as well."""
    try:
        with _writing(task) as session:
            upload = fetching.begin(session, task.blobs, task.owner_id, task.args["upload"])
        if upload is not None:
            _fetch(task, upload)
    except (LeaseLost, NotFound, TaskCancelled, ReturnToQueue, *DATABASE_UNAVAILABLE, OSError):
        raise  # another attempt holds the task, it was cancelled, or another attempt follows
    except PlatformError as error:
        _fail(task, error)
        raise
    except Exception:
        _fail(task, FetchFailed(f"Unexpected error: look for {task.task_id} in the data worker's log."))
        raise


@contextmanager
def open_remote_file(wanted: ImportSource, settings: Settings) -> Iterator[RemoteFile]:
    """Open the file that an import address names. Raises FetchFailed, or ImportRefused if it may not be imported."""
    match wanted:
        case ServerFile():
            with open_server_file(wanted, settings) as file:
                yield file
        case BucketFile():
            yield open_bucket_object(wanted, settings)
        case HubFile():
            hub_file = find_hub_file(wanted, settings)
            with download(WebFile(hub_file.web_url), settings) as file:
                yield RemoteFile(hub_file.name, file.size, file.chunks)
        case WebFile():
            with download(wanted, settings) as file:
                yield file


def _fail(task: TaskContext, error: PlatformError) -> None:
    with _writing(task) as session:
        upload = store.get(session, task.owner_id, task.args["upload"], lock=True)
        store.fail(session, task.blobs, upload, error)


@contextmanager
def _writing(task: TaskContext) -> Iterator[Session]:
    """A transaction that is committed only if this attempt still holds the task. Otherwise another worker may write
    the same upload. The task is locked last, since a request that deletes an upload locks the upload first.
    """
    with session_scope() as session:
        yield session
        session.flush()
        task.require_held(session)


def _fetch(task: TaskContext, upload: Upload) -> None:
    assert upload.url is not None
    wanted = fetching.checked_import_url(upload.url, task.settings)
    with open_remote_file(wanted, task.settings) as source:
        _refuse_size(task, source)
        name = source.name if upload.filename == fetching.default_filename(wanted) else None
        with _writing(task) as session:
            fetching.describe(session, task.owner_id, upload.id, source.size, name)
        size, sha256 = _store(task, upload, source)
    with _writing(task) as session:
        fetching.finish(session, task.owner_id, upload.id, size, sha256)


def _refuse_size(task: TaskContext, source: RemoteFile) -> None:
    """Refuse a file by the size that its source reports, before a byte is read."""
    free = task.blobs.free_bytes()
    if source.size == 0:
        raise FetchFailed("The file is empty.")
    if source.size is not None and source.size > task.settings.max_upload_bytes:
        raise _too_large(task)
    if source.size is not None and free is not None and source.size > free:
        raise DiskFull(f"The file has {source.size} bytes. The platform's disk has room for {free}.")


def _store(task: TaskContext, upload: Upload, source: RemoteFile) -> tuple[int, str]:
    """Store the file in parts. Returns its size in bytes and its SHA-256."""
    reader = _PartReader(task, source)
    number = 0
    while not reader.ended:
        number += 1
        with task.blobs.draft(part_key(upload.id, number)) as draft:
            size = reader.fill(draft, upload.part_bytes)
            if not size:
                break
            draft.settle()
            reader.report()  # raises if another attempt holds the task
            draft.keep()
        with _writing(task) as session:
            fetching.add_part(session, store.get(session, task.owner_id, upload.id, lock=True), number, size)
    if source.size not in (None, reader.received):
        raise FetchFailed(f"The file should have {source.size} bytes, but {reader.received} were received.")
    if not reader.received:
        raise FetchFailed("The file is empty.")
    return reader.received, reader.sha256.hexdigest()


class _PartReader:
    """Reads a source, cut at the ends of parts."""

    def __init__(self, task: TaskContext, source: RemoteFile) -> None:
        self._task, self._total = task, source.size
        self._chunks: Iterator[bytes] = source.chunks
        self._rest = b""
        self.received = 0
        self.ended = False
        self.sha256 = hashlib.sha256()

    def fill(self, draft: BlobDraft, most: int) -> int:
        """Write up to `most` bytes into the draft. Returns their number."""
        filled = 0
        while filled < most:
            chunk = self._rest or next(self._chunks, b"")
            if not chunk:
                self.ended = True
                break
            now, self._rest = chunk[: most - filled], chunk[most - filled :]
            draft.write(now)
            self.sha256.update(now)
            filled += len(now)
            self.received += len(now)
            if self.received > self._task.settings.max_upload_bytes:
                raise _too_large(self._task)
            self.report()
        return filled

    def report(self) -> None:
        total = "" if self._total is None else f" of {self._total // _MIB}"
        self._task.report(
            self.received / self._total if self._total else 0.0, f"{self.received // _MIB}{total} MiB fetched"
        )


def _too_large(task: TaskContext) -> TooLarge:
    return TooLarge(f"The file is larger than the {task.settings.max_upload_bytes} bytes that are allowed.")
