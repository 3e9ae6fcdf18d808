"""A zip made while it is sent: nothing is written to disk, and no more than a piece is in memory."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.blobs import BlobStore

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Entry:
    """A file of the zip and the blob that holds it."""

    name: str
    blob_key: str


def stored_zip(blobs: BlobStore, entries: Sequence[Entry], date: datetime) -> Iterator[bytes]:
    """Stored, not deflated: weights do not compress."""
    outbox = _Outbox()
    with zipfile.ZipFile(outbox, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date.timetuple()[:6])
            # Sizes are written behind each file, so files beyond 4 GiB must be allowed for ahead.
            with blobs.open(entry.blob_key) as file, archive.open(info, "w", force_zip64=True) as target:
                while chunk := file.read(CHUNK):
                    target.write(chunk)
                    yield outbox.take()
        yield outbox.take()
    yield outbox.take()


class _Outbox(io.RawIOBase):
    """A file that is only ever written, and emptied by who sends it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # zipfile writes bytes
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
