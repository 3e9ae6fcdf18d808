"""Lists of unsigned integers in a file: little-endian, 8 bytes each, so that any of them can be read alone."""

import io
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import BinaryIO, overload

SIZE = 8
_FLUSH = 8192


class NumberWriter:
    """Writes numbers to a file in blocks."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting = array("Q")

    def add(self, number: int) -> None:
        self._waiting.append(number)
        if len(self._waiting) == _FLUSH:
            self.flush()

    def flush(self) -> None:
        self._file.write(packed(self._waiting))
        self._waiting = array("Q")


class Stored(Sequence[int]):
    """The numbers of an open file, read on demand."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._count = file.seek(0, io.SEEK_END) // SIZE

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        index = range(self._count)[place]
        if isinstance(index, int):
            return read(self._file, index, 1)[0]
        return read(self._file, index.start, len(index))


def packed(numbers: Iterable[int]) -> bytes:
    """The bytes of the numbers in a file."""
    return _swapped(array("Q", numbers)).tobytes()


def unpacked(data: bytes) -> list[int]:
    """The reverse of `packed`."""
    numbers = array("Q")
    numbers.frombytes(data)
    return _swapped(numbers).tolist()


def read(file: BinaryIO, first: int, count: int) -> list[int]:
    """At most `count` numbers from index `first` on; fewer at the end of the file."""
    file.seek(SIZE * first)
    return unpacked(file.read(SIZE * count))


def _swapped(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
