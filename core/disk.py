"""A disk without room: expected trouble, with an answer of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import DiskFull
from data.errors import is_disk_full


@contextmanager
def disk_full_errors() -> Iterator[None]:
    """Around whatever writes: raises DiskFull instead of the system's own error."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise DiskFull() from error
        raise
