"""Converts errors of a full disk."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import DiskFull
from data.errors import is_disk_full


@contextmanager
def disk_full_errors() -> Iterator[None]:
    """Raise DiskFull for an OSError of a full disk in the block. Other errors pass unchanged."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull() from error
        raise
