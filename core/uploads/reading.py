"""Reads the parts of an upload as one file, without copying them."""

import hashlib
import io
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

from core.blobs import BlobStore
from core.errors import NotFound, UploadDamaged, UploadNotComplete
from core.models import Upload
from core.models.uploads import UploadStatus
from core.uploads.parts import part_key, part_sizes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1024 * 1024


def opener(blobs: BlobStore, upload: Upload) -> Callable[[], BinaryIO]:
    """A function that opens the file, any number of times. Raises UploadNotComplete."""
    if upload.status != UploadStatus.COMPLETE:
        raise UploadNotComplete(f"{upload.id} is {upload.status}. It can be read once it is complete.")
    assert upload.bytes is not None  # a CHECK of the table
    upload_id, sizes = upload.id, part_sizes(upload.bytes, upload.part_bytes)
    return lambda: io.BufferedReader(_Parts(blobs, upload_id, sizes), _BUFFER)


def verify(blobs: BlobStore, upload: Upload) -> None:
    """Raise UploadDamaged if the stored bytes are not those that were received. Parts are read once, in order."""
    digest, size = hashlib.sha256(), 0
    advice = "Upload the file again."
    try:
        with opener(blobs, upload)() as file:
            while piece := file.read(_BUFFER):
                digest.update(piece)
                size += len(piece)
    except NotFound as error:
        raise UploadDamaged(f"{upload.id} ({upload.filename}) is damaged: a part is missing. {advice}") from error
    if (size, digest.hexdigest()) != (upload.bytes, upload.sha256):
        actual = f"{size} bytes with the SHA-256 {digest.hexdigest()} instead of {upload.bytes} with {upload.sha256}"
        raise UploadDamaged(f"{upload.id} ({upload.filename}) is damaged: it has {actual}. {advice}")


class _Parts(io.RawIOBase):
    """The parts as one seekable file. One part is open at a time."""

    def __init__(self, blobs: BlobStore, upload_id: str, sizes: Sequence[int]) -> None:
        super().__init__()
        self._blobs, self._upload_id = blobs, upload_id
        self._ends = list(accumulate(sizes))
        self._position = 0
        self._open: tuple[int, BinaryIO] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._ends[-1]}[whence]
        if start + offset < 0:
            raise ValueError(f"negative seek position {start + offset}")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read to the end of the present part at most. The buffered reader calls it again for the rest."""
        index = bisect_right(self._ends, self._position)
        if index == len(self._ends):
            return 0
        view = memoryview(buffer).cast("B")[: self._ends[index] - self._position]
        file = self._part(index)
        file.seek(self._position - (self._ends[index - 1] if index else 0))
        count: int = file.readinto(view)  # type: ignore[attr-defined]  # every blob is opened as a buffered file
        if count == 0 and len(view):
            raise OSError(f"part {index + 1} of {self._upload_id} is shorter than it was")
        self._position += count
        return count

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None
        super().close()

    def _part(self, index: int) -> BinaryIO:
        if self._open is None or self._open[0] != index:
            if self._open is not None:
                self._open[1].close()
            self._open = (index, self._blobs.open(part_key(self._upload_id, index + 1)))
        return self._open[1]
