"""The bounds on a source file, and byte streams that count, rewind, decompress and convert to UTF-8."""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import zstandard

from data.findings import unusable

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BUFFER = 256 * 1024
HARMLESS = 16 * 1024**2
"""Bytes that any compressed file may expand to."""
_STEP = 1024**2
"""Bytes between two reports of progress."""
_LARGEST_WINDOW = 128 * 1024**2
"""Memory that a zstd frame may ask for: that of `zstd --long`."""


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
    """Largest Parquet file inside a compressed file. The whole file is on disk before its first record is read."""
    columns: int = 1000
    """Most columns, or fields of a record."""
    depth: int = 64
    """How deeply the values of a record may be nested."""


class _Raw(io.RawIOBase):
    """A readable stream of blocks."""

    def __init__(self) -> None:
        self._blocks = self.blocks()
        self._left = memoryview(b"")

    def blocks(self) -> Iterator[bytes]:
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = memoryview(block)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


class CountedBytes(_Raw):
    """The source. `count` is the number of bytes that were read; `progress` receives it from time to time."""

    def __init__(self, file: BinaryIO, progress: Callable[[int], None]) -> None:
        self.count = 0
        self._file, self._progress = file, progress
        super().__init__()

    def blocks(self) -> Iterator[bytes]:
        reported = 0
        while block := self._file.read(BUFFER):
            self.count += len(block)
            if self.count - reported >= _STEP:
                reported = self.count
                self._progress(self.count)
            yield block
        self._progress(self.count)


class LineFeeds(_Raw):
    """Converts line ends of a carriage return alone, as in old Macintosh files, to line feeds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        super().__init__()

    def blocks(self) -> Iterator[bytes]:
        while block := self._file.read(BUFFER):
            yield block.replace(b"\r", b"\n")


class Rewound(_Raw):
    """A stream of the bytes that were read ahead, followed by the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest
        super().__init__()

    def blocks(self) -> Iterator[bytes]:
        yield self._head
        while block := self._rest.read(BUFFER):
            yield block


class Utf8(_Raw):
    """Text of another encoding as UTF-8. Halves of surrogate pairs become bytes that are not UTF-8, which a later check reports."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        errors = "surrogatepass" if encoding.startswith("utf") else "strict"
        self._file, self._decoder = file, codecs.getincrementaldecoder(encoding)(errors)
        self._encoding, self._read = encoding, 0
        super().__init__()

    def blocks(self) -> Iterator[bytes]:
        try:
            while block := self._file.read(BUFFER):
                yield self._decoder.decode(block).encode("utf-8", "surrogatepass")
                self._read += len(block)
            yield self._decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            place = f"byte 0x{error.object[error.start]:02x} behind about {self._read} bytes"
            raise unusable("not_utf8", f"The file is not {self._encoding.upper()} throughout: {place}.") from error


class Expanded(_Raw):
    """The contents of a gzip or zstd file. Raises UnusableFile for one that is cut off, broken, or expands beyond the limits."""

    def __init__(self, file: BinaryIO, source: CountedBytes, compression: str, limits: Limits) -> None:
        """`file` reads from `source`, which counts the bytes that were read."""
        self._file, self._source, self._compression, self._limits = file, source, compression, limits
        super().__init__()

    def blocks(self) -> Iterator[bytes]:
        # In steps so small that the most compressed one cannot fill the memory: deflate makes a thousand bytes of one, a
        # zstd block of four bytes makes 128 KiB.
        start, step = (_gzip, 16 * 1024) if self._compression == "gzip" else (_zstd, 1024)
        count = 0
        try:
            for block in _members(self._file, start, step):
                count += len(block)
                self._bound(count)
                yield block
        except EOFError as error:
            detail = f"The {self._compression} file is cut off: it ends in the middle. Send it again."
            raise unusable("truncated", detail) from error
        except (zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
            raise unusable("broken_compression", f"The {self._compression} file is broken: {error}.") from error

    def _bound(self, count: int) -> None:
        limits = self._limits
        if count > limits.expanded_bytes:
            detail = f"Decompressed, the file has more than {limits.expanded_bytes} bytes, which is the limit."
            raise unusable("expands_too_far", detail)
        if count > max(HARMLESS, limits.ratio * self._source.count):
            detail = f"Decompressed, the file is more than {limits.ratio:g} times as large as it was sent."
            raise unusable("expands_too_far", detail)


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _gzip() -> _Decoder:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


def _zstd() -> _Decoder:
    decoder: _Decoder = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
    return decoder


def _members(file: BinaryIO, start: Callable[[], _Decoder], step: int) -> Iterator[bytes]:
    """The contents of all members (gzip) or frames (zstd). Raises EOFError if the last one is incomplete."""
    decoder, first = None, True
    while data := file.read(step):
        while data:
            if decoder is None:
                data = data if first else data.lstrip(b"\0")  # padding, as of tapes
                if not data:
                    break
                decoder, first = start(), False
            if block := decoder.decompress(data):
                yield block
            data = decoder.unused_data if decoder.eof else b""
            decoder = None if decoder.eof else decoder
    if decoder is not None:
        raise EOFError
