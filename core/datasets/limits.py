"""What a file may not exceed, whoever sends it."""

from dataclasses import dataclass, replace
from typing import Self

from core.settings import Settings


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

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As the operator set them."""
        return cls(
            line_bytes=settings.max_line_bytes,
            ratio=settings.max_compression_ratio,
            expanded_bytes=settings.max_expanded_bytes,
            columns=settings.max_columns,
            depth=settings.max_depth,
        )

    def at_once(self, settings: Settings) -> Self:
        """For a file that is read while its request waits."""
        return replace(self, expanded_bytes=min(self.expanded_bytes, 4 * settings.max_request_upload_bytes))
