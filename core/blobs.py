"""Where the big things lie: datasets and checkpoints, by key."""

import errno
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Protocol

from core.disk import disk_full_errors
from core.errors import NotFound
from core.settings import Settings

_PIECE = 1024 * 1024
_DRAFT = ".incoming-"
_COMES_AND_GOES = frozenset({errno.ENOENT, errno.ENOTEMPTY})
"""What emptying a folder meets while somebody's draft in it begins or ends."""
_ABANDONED_SECONDS = 24 * 3600
log = logging.getLogger(__name__)


class Draft(Protocol):
    """A blob that is being written. Raises DiskFull when there is no room."""

    def write(self, data: bytes) -> None:
        """Append to it."""

    def settle(self) -> None:
        """Have all that was written survive a power cut: the slow part of `keep`, for whoever wants it done before."""

    def keep(self) -> None:
        """Make it the blob, in place of what the key held."""

    def open(self) -> BinaryIO:
        """Read what was written so far."""


class BlobStore(Protocol):
    """Keys are relative posix paths. A blob appears whole or not at all."""

    def put_file(self, key: str, source: Path) -> None:
        """Store a copy of a file, replacing what the key held. DiskFull where there is no room."""

    def draft(self, key: str) -> AbstractContextManager[Draft]:
        """Write a blob piece by piece. What was not kept is gone when the block ends."""

    def free_bytes(self) -> int | None:
        """How much more there is room for; None where nobody knows."""

    def open(self, key: str) -> BinaryIO:
        """Read it from its beginning. NotFound if there is none."""

    def get_to(self, key: str, target: Path) -> None:
        """Copy it to a file, which appears whole."""

    def exists(self, key: str) -> bool: ...

    def delete(self, key: str) -> None:
        """Also if there is none."""

    def delete_prefix(self, prefix: str) -> None:
        """Delete every blob below `prefix/`."""

    def list(self, prefix: str) -> Iterator[str]:
        """The keys below `prefix/`, in order."""

    def clear_abandoned(self) -> None:
        """Remove drafts in which nothing was written for a day: their process was killed."""


class LocalBlobs:
    """A folder. Every machine that shares it shares the blobs."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_file(self, key: str, source: Path) -> None:
        with self.draft(key) as draft, source.open("rb") as file:
            while piece := file.read(_PIECE):
                draft.write(piece)
            draft.keep()

    @contextmanager
    def draft(self, key: str) -> Iterator[Draft]:
        target = self._path(key)
        with disk_full_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            with _drafted(target) as file:
                yield _LocalDraft(file, target)

    def free_bytes(self) -> int | None:
        self._root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self._root).free

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error

    def get_to(self, key: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.open(key) as source, disk_full_errors(), _drafted(target) as file:
            shutil.copyfileobj(source, file, _PIECE)
            _LocalDraft(file, target).keep()

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def delete_prefix(self, prefix: str) -> None:
        folder = self._path(prefix)
        while folder.exists():
            try:
                shutil.rmtree(folder)
            except OSError as error:
                if error.errno not in _COMES_AND_GOES:
                    raise

    def list(self, prefix: str) -> Iterator[str]:
        for path in sorted(self._path(prefix).rglob("*")):
            if path.is_file() and not path.name.startswith(_DRAFT):
                yield path.relative_to(self._root).as_posix()

    def clear_abandoned(self) -> None:
        for path in self._root.rglob(f"{_DRAFT}*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()

    def _path(self, key: str) -> Path:
        """Keys are ours, but some hold names that came from outside: none may leave the folder."""
        pure = PurePosixPath(key)
        if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in key:
            raise ValueError(f"not a blob key: {key!r}")
        return self._root / pure


def blob_store(settings: Settings) -> BlobStore:
    """The store that the settings name."""
    return LocalBlobs(settings.blob_dir)


def discard(blobs: BlobStore, prefixes: Iterable[str]) -> None:
    """Delete what no row knows any more. Raises nothing, for it is called behind a commit: what stays, the sweeper removes."""
    for prefix in prefixes:
        try:
            blobs.delete_prefix(prefix)
        except OSError as error:
            log.warning("%s stays for the sweeper: %s", prefix, error)


class _LocalDraft:
    """A file beside the one that it will replace: nobody ever sees half of it."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._file, self._target = file, target
        self._settled = False

    def write(self, data: bytes) -> None:
        self._settled = False
        with disk_full_errors():
            self._file.write(data)

    def settle(self) -> None:
        if not self._settled:
            with disk_full_errors():
                self._file.flush()
                os.fsync(self._file.fileno())
            self._settled = True

    def keep(self) -> None:
        self.settle()
        Path(self._file.name).replace(self._target)

    def open(self) -> BinaryIO:
        with disk_full_errors():
            self._file.flush()
        return Path(self._file.name).open("rb")


@contextmanager
def _drafted(target: Path) -> Iterator[IO[bytes]]:
    """An empty file beside `target`, which is gone in the end unless it was renamed."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=_DRAFT, delete=False) as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)
