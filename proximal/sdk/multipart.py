"""Upload of a file in parts: several parts at a time, with retries, resumed after an interruption.

The checksum of the file is computed while the parts are sent.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from proximal.errors import ApiError, ClientError, Unreachable
from proximal.sdk.types import Upload, UploadPart, UploadPartSum

T = TypeVar("T")
_Status = Literal["complete", "open"]
Progress = Callable[[int, int], None]
"""Called with the bytes sent and the size of the file. Several threads call it, one at a time."""

PARALLEL = 4
TRIES = 6
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
_PIECE = 1024 * 1024
_PASSES = (429, 502, 503, 504)


def persistently(action: Callable[[], T], wait: Callable[[float], object] = time.sleep) -> T:
    """The result of `action`. It is retried after a temporary error, up to TRIES calls in all."""
    pause = _FIRST_PAUSE
    for _ in range(TRIES - 1):
        try:
            return action()
        except (Unreachable, ApiError) as error:
            if isinstance(error, ApiError) and (error.status not in _PASSES or error.should_retry is False):
                raise
        wait(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return action()


class Platform(Protocol):
    """The methods of the client that an upload needs."""

    def create_upload(self, filename: str, bytes: int, sha256: str | None = None) -> Upload: ...
    def list_uploads(self, *, status: _Status | None = None) -> Iterator[Upload]: ...
    def get_upload_part(self, upload_id: str, number: int) -> UploadPartSum: ...
    def put_upload_part(self, upload_id: str, number: int, content: Iterator[bytes], size: int) -> UploadPart: ...
    def complete_upload(self, upload_id: str, sha256: str | None = None) -> Upload: ...


class _Ended(Exception):
    """Raised in the sending threads after the upload has ended or failed."""


class MultipartUpload:
    """The upload of one file."""

    def __init__(self, platform: Platform, file: Path, progress: Progress | None = None) -> None:
        self._platform, self._file = platform, file
        self._size = file.stat().st_size
        self._progress = progress or (lambda sent, total: None)
        self._sent = 0
        self._counting = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> Upload:
        """Return the complete upload. Parts sent before an interruption are kept, and the next call resumes from them.

        Raises ApiError (`checksum_mismatch` for a file that changed meanwhile) and, after several tries, Unreachable.
        """
        try:
            whole = _begin(lambda: self._sum(0, self._size))
            upload = self._resumable(whole) or self._platform.create_upload(self._file.name, self._size)
            self._count(upload["bytes_received"])
            if upload["status"] == "complete":
                return upload
            missing = sorted(set(range(1, (upload["parts"] or 0) + 1)) - set(upload["received"]))
            _in_parallel(missing, lambda number: self._send(upload, number))
            return persistently(lambda: self._platform.complete_upload(upload["id"], whole.result()), self._wait)
        finally:
            self._ended.set()

    def _resumable(self, whole: Future[str]) -> Upload | None:
        """An earlier upload of this file, complete or open; None if there is none. An open one has only parts of this file."""
        for upload in self._alike("complete"):
            if upload["sha256"] == whole.result():
                return upload
        for upload in self._alike("open"):
            checks = _in_parallel(upload["received"], lambda number, of=upload: self._is_ours(of, number))  # type: ignore[misc]
            if all(checks) and (upload["sha256"] is None or upload["sha256"] == whole.result()):
                return upload
        return None

    def _alike(self, status: _Status) -> Iterator[Upload]:
        """Uploads with the name and size of the file, newest first."""
        for upload in self._platform.list_uploads(status=status):
            if (upload["filename"], upload["bytes"]) == (self._file.name, self._size):
                yield upload

    def _is_ours(self, upload: Upload, number: int) -> bool:
        there = self._platform.get_upload_part(upload["id"], number)["sha256"]
        return there == self._sum((number - 1) * upload["part_bytes"], self._part_size(upload, number))

    def _send(self, upload: Upload, number: int) -> None:
        size = self._part_size(upload, number)

        def once() -> None:
            counted = _Counted(self)
            try:
                pieces = counted.over(self._pieces((number - 1) * upload["part_bytes"], size))
                self._platform.put_upload_part(upload["id"], number, pieces, size)
            except (Unreachable, ApiError):
                counted.undo()
                raise

        persistently(once, self._wait)

    def _wait(self, seconds: float) -> None:
        if self._ended.wait(seconds):
            raise _Ended

    def _part_size(self, upload: Upload, number: int) -> int:
        return min(upload["part_bytes"], self._size - (number - 1) * upload["part_bytes"])

    def _sum(self, start: int, size: int) -> str:
        digest = hashlib.sha256()
        for piece in self._pieces(start, size):
            digest.update(piece)
        return digest.hexdigest()

    def _pieces(self, start: int, size: int) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            file.seek(start)
            while size:
                if self._ended.is_set():
                    raise _Ended
                piece = file.read(min(size, _PIECE))
                if not piece:
                    raise ClientError(f"{self._file} became shorter while it was sent.")
                size -= len(piece)
                yield piece

    def _count(self, more: int) -> None:
        with self._counting:
            self._sent += more
            self._progress(self._sent, self._size)


class _Counted:
    """Counts the bytes that one try has sent. They are subtracted if it fails."""

    def __init__(self, upload: MultipartUpload) -> None:
        self._upload, self._sent = upload, 0

    def over(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            self._sent += len(piece)
            self._upload._count(len(piece))

    def undo(self) -> None:
        self._upload._count(-self._sent)


def _in_parallel(numbers: Iterable[int], action: Callable[[int], T]) -> list[T]:
    """The results of `action` for each number, PARALLEL at a time. Raises the first error at once."""
    shared, results = iter(list(numbers)), []

    def worker() -> None:
        for number in shared:
            results.append(action(number))

    for future in as_completed([_begin(worker) for _ in range(PARALLEL)]):
        future.result()
    return results


def _begin(action: Callable[[], T]) -> Future[T]:
    """Run `action` in a daemon thread, so that a dead connection does not delay the exit after Ctrl-C."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(action())
        except BaseException as error:  # noqa: BLE001  future.result() raises it
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future
