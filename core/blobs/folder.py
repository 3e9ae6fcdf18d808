"""Blobs as files of a folder."""

import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from core.blobs.content import PIECE, difference
from core.blobs.protocol import BlobDamaged, BlobDraft, Content
from core.errors import DiskFull, NotFound
from data.errors import disk_full_raises

_DRAFT = ".incoming-"
_CONCURRENT_CHANGES = frozenset({errno.ENOENT, errno.ENOTEMPTY})
"""Errors of removing a folder while another process creates or removes a draft in it."""
_ABANDONED_SECONDS = 24 * 3600
"""Age of the last write after which a draft is taken for that of a killed process."""


class LocalBlobs:
    """Blobs as files of a folder, which several machines may share."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalBlobs) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    def put_file(self, key: str, source: Path) -> Content:
        with self.draft(key) as draft, source.open("rb") as file:
            content = _hashed_copy(file, draft)
            draft.keep()
        return content

    def draft(self, key: str) -> AbstractContextManager[BlobDraft]:
        return new_file(self._path(key))

    def free_bytes(self) -> int | None:
        self._root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self._root).free

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error

    def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
        with self.open(key) as source, new_file(target) as draft:
            found = _hashed_copy(source, draft)
            if expected is not None and (fault := difference(found, expected)):
                raise BlobDamaged(fault)
            draft.keep()

    def stamp(self, key: str) -> tuple[int, str]:
        try:
            found = self._path(key).stat()
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error
        return found.st_size, f"{found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns}"

    def download_url(self, key: str) -> None:
        return None

    def check(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._root) as file:
            file.write(b"check")

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


@contextmanager
def new_file(target: Path) -> Iterator[BlobDraft]:
    """A draft of a file, in the folder of the file. It is deleted at the end of the block unless it was kept. Raises DiskFull."""
    with disk_full_raises(DiskFull):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_file(target) as file:
            yield _LocalDraft(file, target)


def _hashed_copy(source: BinaryIO, target: BlobDraft) -> Content:
    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        target.write(piece)
        digest.update(piece)
        size += len(piece)
    return Content(size, digest.hexdigest())


class _LocalDraft:
    """A temporary file in the folder of its target. Renaming it publishes it in one step."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._file, self._target = file, target
        self._settled = False

    def write(self, data: bytes | memoryview) -> None:
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
