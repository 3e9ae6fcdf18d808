"""Where the big things lie: datasets and checkpoints, by key."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from core.errors import NotFound
from core.settings import Settings


class BlobStore(Protocol):
    """Keys are relative posix paths. A blob appears whole or not at all."""

    def put_file(self, key: str, source: Path) -> None:
        """Store a copy of a file, replacing what the key held."""

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


class LocalBlobs:
    """A folder. Every machine that shares it shares the blobs."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_file(self, key: str, source: Path) -> None:
        target = self._path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_whole(source, target)

    def open(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error

    def get_to(self, key: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _copy_whole(self._path(key), target)
        except FileNotFoundError as error:
            raise NotFound(f"There is no blob {key!r}.") from error

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def delete_prefix(self, prefix: str) -> None:
        folder = self._path(prefix)
        if folder.exists():
            shutil.rmtree(folder)

    def list(self, prefix: str) -> Iterator[str]:
        for path in sorted(self._path(prefix).rglob("*")):
            if path.is_file():
                yield path.relative_to(self._root).as_posix()

    def _path(self, key: str) -> Path:
        """Keys are ours, but some hold names that came from outside: none may leave the folder."""
        pure = PurePosixPath(key)
        if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in key:
            raise ValueError(f"not a blob key: {key!r}")
        return self._root / pure


def blob_store(settings: Settings) -> BlobStore:
    """The store that the settings name."""
    return LocalBlobs(settings.blob_dir)


def _copy_whole(source: Path, target: Path) -> None:
    """Copy beside the target, then rename: nobody ever sees half a file."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".incoming-", delete=False) as draft:
        try:
            with source.open("rb") as file:
                shutil.copyfileobj(file, draft, 1024 * 1024)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(target)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
