"""Bounds on the size and structure of a source file."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on one source file."""

    line_bytes: int = 4 * 1024**2
    """Longest line, and largest record of the other containers."""
    ratio: float = 200
    """How many times larger than its file a compressed one may become."""
    expanded_bytes: int = 64 * 1024**3
    """Largest file once it is decompressed."""
    unpacked_bytes: int = 256 * 1024**2
    """Largest Parquet file in a compressed one: it lies on the disk, whole, before its first record is read."""
    columns: int = 1000
    """Most columns, or fields of a record."""
    depth: int = 64
    """How deeply the values of a record may be nested."""
