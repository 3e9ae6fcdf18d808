"""Keeps the output of a library out of the run's console."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def console_in(file: Path) -> Iterator[None]:
    """Append standard output and standard error to `file` while inside, those of C++ code and of all threads too."""
    with file.open("ab") as log:
        _flush()
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            for descriptor in (1, 2):
                os.dup2(log.fileno(), descriptor)
            yield
        finally:
            _flush()
            for descriptor, own in enumerate(kept, start=1):
                os.dup2(own, descriptor)
                os.close(own)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
