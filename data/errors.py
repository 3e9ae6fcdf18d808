"""Errors of the dataset library.

    RowError             one record or row cannot be used.
    DatasetError         Base class of the others.
    ├── UnusableFile     a file, or the rows in it, cannot be used.
    ├── UnclearFormat    several formats fit a file, or none does.
    ├── UnusableMapping  a mapping of columns to fields is not valid.
    ├── InvalidOption    a format, kind or encoding does not exist, or does not fit the file.
    ├── OutOfSpace       the disk has no room for a temporary file.
    ├── UnreadableRows   a file of rows cannot be read. The message names the file and the line.
    ├── LibraryMissing   an optional Python package is not installed.
    ├── TokenizerFailed  the caller's tokenizer cannot be loaded.
    └── ProcessEnded     a process of the data report has ended.

`core.errors.platform_error` and `trainer.errors.data_errors` convert them.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No room on the disk, in the quota, or within the largest file size that the system allows."""

_VERBS = frozenset({"is", "must", "has", "holds", "ends", "names", "begins"})


class RowError(Exception):
    """A record that cannot be used.

    `detail` is what is wrong. `column` (characters, from 1) or `pointer` (a JSON pointer) is where. `code` is a key of
    `data.findings.CODES`.
    """

    def __init__(
        self, detail: str, column: int | None = None, pointer: str | None = None, code: str = "not_usable"
    ) -> None:
        super().__init__(detail)
        self.detail, self.column, self.pointer, self.code = detail, column, pointer, code

    def sentence(self) -> str:
        """A sentence without its full stop. A detail that begins with a verb gets the field or the record as its subject."""
        if self.detail.split(" ", 1)[0] not in _VERBS:
            return self.detail[:1].upper() + self.detail[1:]
        return f"`{self.pointer.lstrip('/')}` {self.detail}" if self.pointer else f"The record {self.detail}"


class DatasetError(Exception):
    """Base. `detail` is a sentence for the user; `extras` are more members of the API's problem document."""

    def __init__(self, detail: str = "", **extras: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extras = extras


class UnusableFile(DatasetError):
    """A file, or the rows in it, cannot be used."""


class UnclearFormat(DatasetError):
    """Several formats fit the file, or none does."""


class UnusableMapping(DatasetError):
    """A mapping of columns to fields is not valid."""


class InvalidOption(DatasetError):
    """A format, kind or encoding that does not exist, or does not fit the file."""


class OutOfSpace(DatasetError):
    """The disk has no room for a temporary file."""


class UnreadableRows(DatasetError):
    """A file of rows cannot be read. The message names the file and the line."""


class LibraryMissing(DatasetError):
    """An optional Python package is not installed."""


class TokenizerFailed(DatasetError):
    """The caller's tokenizer cannot be loaded. `error` is the caller's exception."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.args = (error,)  # pickled between processes
        self.error = error


class ProcessEnded(DatasetError):
    """A process of the data report has ended."""


def is_disk_full(error: OSError) -> bool:
    """Whether `error` means a full disk, an exhausted quota or a file larger than the system allows."""
    return error.errno in _FULL


@contextmanager
def disk_full_raises(error: type[Exception]) -> Iterator[None]:
    """Raise `error` in place of the OSError of a full disk. Other errors pass unchanged."""
    try:
        yield
    except OSError as found:
        if is_disk_full(found):
            raise error() from found
        raise
