"""Stores large files by key: rows of datasets, parts of uploads, and checkpoints."""

import errno
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Protocol

from core.errors import DiskFull, NotFound, StorageUnreadable
from core.settings import Settings
from data.errors import disk_full_raises

_PIECE = 1024 * 1024
_DRAFT = ".incoming-"
_CONCURRENT_CHANGES = frozenset({errno.ENOENT, errno.ENOTEMPTY})
"""Errors of removing a folder while another process creates or removes a draft in it."""
_ABANDONED_SECONDS = 24 * 3600
"""Age of the last write after which a draft is taken for that of a killed process."""
NOT_MOUNTED = "The blob store is empty. Its share may not be mounted."
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """The size and the SHA-256 that a blob had when it was stored."""

    bytes: int
    sha256: str


class BlobDamaged(Exception):
    """A blob does not have the content that was stored. Its text names the fault."""


class BlobDraft(Protocol):
    """A blob that is being written. Every method raises DiskFull when the disk is full."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def settle(self) -> None:
        """Flush all written bytes to the disk. `keep` does it too; a caller may do this slow part before it takes a lock."""

    def keep(self) -> None:
        """Publish the draft as the blob of its key. An earlier blob is replaced."""

    def open(self) -> BinaryIO:
        """Open the bytes written so far for reading."""


class BlobStore(Protocol):
    """Keys are relative posix paths. A blob becomes visible once it is complete. Two objects of one store are equal."""

    def __hash__(self) -> int: ...

    def put_file(self, key: str, source: Path) -> None:
        """Store a copy of a file. An earlier blob of the key is replaced. Raises DiskFull."""

    def draft(self, key: str) -> AbstractContextManager[BlobDraft]:
        """A draft to write a blob piece by piece. A draft that was not kept is deleted at the end of the block."""

    def free_bytes(self) -> int | None:
        """Free space in bytes; None if the store has no limit that it can report."""

    def open(self, key: str) -> BinaryIO:
        """Open the blob for reading. Raises NotFound."""

    def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
        """Copy the blob to a file, which becomes visible once it is complete.

        With `expected`, the copy is hashed on its way. Raises NotFound, DiskFull, and BlobDamaged for another content.
        """

    def stamp(self, key: str) -> tuple[int, str]:
        """Size in bytes, and a text that changes when the blob is written. Raises NotFound."""

    def exists(self, key: str) -> bool: ...

    def is_empty(self) -> bool:
        """Whether the store has nothing at all, as a share that is not mounted."""

    def delete(self, key: str) -> None:
        """Delete the blob, if there is one."""

    def delete_prefix(self, prefix: str) -> None:
        """Delete every blob below `prefix/`."""

    def list(self, prefix: str) -> Iterator[str]:
        """The keys below `prefix/`, in order."""

    def clear_abandoned(self) -> None:
        """Remove drafts without a write for a day. Their process was killed."""


class LocalBlobs:
    """Blobs as files of a folder, which several machines may share."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalBlobs) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    def put_file(self, key: str, source: Path) -> None:
        with self.draft(key) as draft, source.open("rb") as file:
            while piece := file.read(_PIECE):
                draft.write(piece)
            draft.keep()

    @contextmanager
    def draft(self, key: str) -> Iterator[BlobDraft]:
        target = self._path(key)
        with disk_full_raises(DiskFull):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _temporary_file(target) as file:
                yield _LocalDraft(file, target)

    def free_bytes(self) -> int | None:
        self._root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self._root).free

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error

    def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.open(key) as source, disk_full_raises(DiskFull), _temporary_file(target) as file:
            if expected is None:
                shutil.copyfileobj(source, file, _PIECE)
            elif fault := _difference(_hashed_copy(source, file), expected):
                raise BlobDamaged(fault)
            _LocalDraft(file, target).keep()

    def stamp(self, key: str) -> tuple[int, str]:
        try:
            found = self._path(key).stat()
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error
        return found.st_size, f"{found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns}"

    def is_empty(self) -> bool:
        return not self._root.is_dir() or next(self._root.iterdir(), None) is None

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
                if error.errno not in _CONCURRENT_CHANGES:
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
        """The file of a key. Raises ValueError for a key outside the folder, since some keys contain names from users."""
        pure = PurePosixPath(key)
        if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in key:
            raise ValueError(f"not a blob key: {key!r}")
        return self._root / pure


def blob_store(settings: Settings) -> BlobStore:
    """The blob store of the settings."""
    return LocalBlobs(settings.blob_dir)


def fault_of(blobs: BlobStore, key: str, expected: Content) -> str | None:
    """The fault of a blob's content; None if it is what was stored.

    This process hashes a blob once as long as it is not written. Raises StorageUnreadable if the disk does not return the
    bytes, which does not mean that they are wrong.
    """
    try:
        size, stamp = blobs.stamp(key)
        if size != expected.bytes:
            return _difference(Content(size, ""), expected)
        return _difference(Content(size, _sha256(blobs, key, stamp)), expected)
    except NotFound as error:
        if blobs.is_empty():
            raise StorageUnreadable(NOT_MOUNTED) from error
        return "is missing"
    except OSError as error:
        raise StorageUnreadable(f"{key} cannot be read: {error.strerror or error}.") from error


@lru_cache(maxsize=8192)
def _sha256(blobs: BlobStore, key: str, stamp: str) -> str:
    """The hash of a blob. `stamp` makes the cache forget a blob that was written since."""
    digest = hashlib.sha256()
    with blobs.open(key) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _hashed_copy(source: BinaryIO, target: IO[bytes]) -> Content:
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE):
        target.write(piece)
        digest.update(piece)
        size += len(piece)
    return Content(size, digest.hexdigest())


def _difference(found: Content, expected: Content) -> str | None:
    if found.bytes != expected.bytes:
        return f"has {found.bytes} bytes instead of {expected.bytes}"
    if found.sha256 != expected.sha256:
        return f"has the SHA-256 {found.sha256} instead of {expected.sha256}"
    return None


def discard(blobs: BlobStore, prefixes: Iterable[str]) -> None:
    """Delete blobs after the commit that deleted their rows. Errors are logged, and the sweeper deletes the rest."""
    for prefix in prefixes:
        try:
            blobs.delete_prefix(prefix)
        except OSError as error:
            log.warning("could not delete the blobs below %s; the sweeper tries again: %s", prefix, error)


class _LocalDraft:
    """A temporary file in the folder of its target. Renaming it publishes it in one step."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._file, self._target = file, target
        self._settled = False

    def write(self, data: bytes) -> None:
        self._settled = False
        with disk_full_raises(DiskFull):
            self._file.write(data)

    def settle(self) -> None:
        if not self._settled:
            with disk_full_raises(DiskFull):
                self._file.flush()
                os.fsync(self._file.fileno())
            self._settled = True

    def keep(self) -> None:
        self.settle()
        Path(self._file.name).replace(self._target)

    def open(self) -> BinaryIO:
        with disk_full_raises(DiskFull):
            self._file.flush()
        return Path(self._file.name).open("rb")


@contextmanager
def _temporary_file(target: Path) -> Iterator[IO[bytes]]:
    """An empty file beside `target`. It is deleted at the end of the block unless it was renamed."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=_DRAFT, delete=False) as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)
