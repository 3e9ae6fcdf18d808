from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A file elsewhere that has been opened."""

    name: str
    """What it is called there."""
    size: int | None
    """Its size, where that is said."""
    pieces: Iterator[bytes]
    """Its bytes, once. Raises FetchFailed."""
