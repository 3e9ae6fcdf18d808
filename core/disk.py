"""A disk without room: expected trouble, with an answer of its own."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import DiskFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No room on the disk, in the quota, or within the largest size that a file may have here."""


@contextmanager
def full_disk_told() -> Iterator[None]:
    """Around whatever writes: raises DiskFull instead of the system's own error."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull() from error
        raise


def is_full(error: OSError) -> bool:
    """Whether this is what a full disk says."""
    return error.errno in _FULL
