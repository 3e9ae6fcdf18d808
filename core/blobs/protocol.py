"""The interface of every blob store."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

NOT_MOUNTED = "The blob store is empty. Its share may not be mounted."


@dataclass(frozen=True)
class Content:
    """The size and the SHA-256 that a blob had when it was stored."""

    bytes: int
    sha256: str
    stamp: str | None = field(default=None, compare=False)
    """The stamp of the blob that is known to have this content. None: every reader verifies it."""


class BlobDamaged(Exception):
    """A blob does not have the content that was stored. Its text names the fault."""


class BlobDraft(Protocol):
    """A blob that is being written. Every method raises DiskFull when the disk is full."""

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""

    def settle(self) -> None:
        """Flush all written bytes to the disk. `keep` does it too; a caller may do this slow part before it takes a lock."""

    def keep(self) -> None:
        """Publish the draft as the blob of its key. An earlier blob is replaced."""

    def open(self) -> BinaryIO:
        """Open the bytes written so far for reading."""


class BlobStore(Protocol):
    """Keys are relative posix paths. A blob becomes visible once it is complete. Two objects of one store are equal."""

    def __hash__(self) -> int: ...

    def put_file(self, key: str, source: Path) -> Content:
        """Store a copy of a file. Returns the content that was stored. An earlier blob of the key is replaced. Raises DiskFull."""

    def draft(self, key: str) -> AbstractContextManager[BlobDraft]:
        """A draft to write a blob piece by piece. A draft that was not kept is deleted at the end of the block."""

    def free_bytes(self) -> int | None:
        """Free space in bytes; None if the store has no limit that it can report."""

    def open(self, key: str) -> BinaryIO:
        """Open the blob for reading. Raises NotFound."""

    def get_to(self, key: str, target: Path, expected: Content | None = None) -> None:
        """Copy the blob to a file, which becomes visible once it is complete.

        With `expected`, the copy is hashed on its way. Raises NotFound, DiskFull, and BlobDamaged for another content.
        """

    def stamp(self, key: str) -> tuple[int, str]:
        """Size in bytes, and a text that changes when the blob is written. Raises NotFound."""

    def download_url(self, key: str) -> str | None:
        """An address from which anybody can download the blob for some minutes; None if the store has none."""

    def check(self) -> str | None:
        """Write, read and delete a blob. Returns a limit of the store that its operator should know, or None.

        Raises OSError. The text of StoreFailed, for a bucket, names the setting to change.
        """

    def exists(self, key: str) -> bool: ...

    def is_empty(self) -> bool:
        """Whether the store has nothing at all, as a share that is not mounted."""

    def delete(self, key: str) -> None:
        """Delete the blob, if there is one."""

    def delete_prefix(self, prefix: str) -> None:
        """Delete every blob below `prefix/`."""

    def list(self, prefix: str) -> Iterator[str]:
        """The keys below `prefix/`, in order."""

    def clear_abandoned(self) -> None:
        """Remove drafts and unfinished transfers without a write for a day. Their process was killed."""
