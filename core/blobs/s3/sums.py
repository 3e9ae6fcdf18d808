"""Checksums of a file while it is sent: the SHA-256 of the whole, and the ETag that an S3 server computes from MD5 sums."""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

from core.blobs.protocol import Content

_LEAST_PART = 16 * 1024 * 1024
_MOST_PARTS = 9_000
"""S3 allows 10,000."""


def part_bytes(size: int) -> int:
    """Size of the parts in which a file of `size` bytes is sent."""
    return max(_LEAST_PART, -(-size // _MOST_PARTS))


class SumReader:
    """Reads a file in parts, and computes its checksums."""

    def __init__(self, file: BinaryIO, part: int) -> None:
        self._file, self.part_bytes = file, part
        self._sha256 = hashlib.sha256()
        self._md5s: list[bytes] = []
        self._bytes = 0

    def parts(self) -> Iterator[bytes]:
        """The parts of the file; an empty file has one."""
        while (piece := self._file.read(self.part_bytes)) or not self._md5s:
            self._sha256.update(piece)
            self._md5s.append(hashlib.md5(piece, usedforsecurity=False).digest())
            self._bytes += len(piece)
            yield piece

    @property
    def last_md5(self) -> bytes:
        """The MD5 sum of the part that was read last."""
        return self._md5s[-1]

    def content(self, stamp: str) -> Content:
        """The content of the parts that were read."""
        return Content(self._bytes, self._sha256.hexdigest(), stamp)

    @property
    def etag(self) -> str:
        """The ETag of these bytes, sent in one request or as a multipart upload of these parts."""
        if len(self._md5s) == 1:
            return self._md5s[0].hex()
        return f"{hashlib.md5(b''.join(self._md5s), usedforsecurity=False).hexdigest()}-{len(self._md5s)}"


def plain(etag: str | None) -> str:
    """An ETag without its quotation marks."""
    return (etag or "").strip('"')
