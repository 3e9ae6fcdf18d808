"""Files of this machine, below the folders that the operator has named."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.access.import_urls import ServerFile, folders_of
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings
from worker.downloads.source import Source

_PIECE = 1024 * 1024
# Not to wait for the other end of a pipe, and not to follow a link that was put there after it was looked at.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_file(wanted: ServerFile, settings: Settings) -> Iterator[Source]:
    """A regular file, wherever its links lead, below an allowed folder and not among the platform's own."""
    path = wanted.path.resolve()
    _refuse_place(wanted, path, settings)
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise FetchFailed(f"{wanted.path} cannot be read: {os.strerror(error.errno or errno.EIO)}.") from error
    try:
        _refuse_place(wanted, _opened_path(descriptor, path), settings)
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise FetchFailed(f"{wanted.path} is no file.")
        yield Source(wanted.name, about.st_size, iter(lambda: os.read(descriptor, _PIECE), b""))
    finally:
        os.close(descriptor)


def _refuse_place(wanted: ServerFile, path: Path, settings: Settings) -> None:
    folders = [folder.resolve() for folder in folders_of(settings.import_urls)]
    own = (settings.data_dir.resolve(), settings.blob_dir.resolve())
    if not _below(path, folders) or _below(path, own):
        raise ImportRefused(f"{wanted.path} leads to a place that this platform does not import from.", param="url")


def _opened_path(descriptor: int, path: Path) -> Path:
    """Where the file lies that was opened: a folder above it may have become a link meanwhile. Only Linux tells."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except FileNotFoundError:
        return path


def _below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
