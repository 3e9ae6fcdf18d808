"""Reads objects in ranges, each by a request of its own, so that a broken connection costs one range."""

import io
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Fetch = Callable[[int, int], memoryview]
"""Returns the bytes from a start to an end, exclusively."""
_COPIED_RANGE = 32 * 1024 * 1024
_SMALLEST_RANGE, _LARGEST_RANGE = 128 * 1024, 8 * 1024 * 1024
"""Ranges of an opened object."""
_BUFFER = 64 * 1024
_AT_ONCE = 4


def ranges(fetch: Fetch, size: int) -> Iterator[memoryview]:
    """All bytes of an object in order. Some ranges are fetched ahead, at the same time."""
    waiting: deque[Future[memoryview]] = deque()
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="s3") as threads:
        try:
            for start in range(0, size, _COPIED_RANGE):
                waiting.append(threads.submit(fetch, start, min(start + _COPIED_RANGE, size)))
                if len(waiting) > _AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


def opened(fetch: Fetch, size: int) -> io.BufferedReader:
    """An object as a seekable file."""
    return io.BufferedReader(_Object(fetch, size), _BUFFER)


class _Object(io.RawIOBase):
    """Ranges become longer while they follow each other, so that a single row costs little and a whole file few requests."""

    def __init__(self, fetch: Fetch, size: int) -> None:
        super().__init__()
        self._fetch, self._size = fetch, size
        self._position = self._start = 0
        self._range = memoryview(b"")
        self._next_bytes = _SMALLEST_RANGE

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        position = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence] + offset
        if position < 0:
            raise ValueError(f"negative seek position {position}")
        self._position = position
        return position

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        if self._position >= self._size:
            return 0
        if not self._start <= self._position < self._start + len(self._range):
            self._fill()
        target = memoryview(buffer).cast("B")
        found = self._range[self._position - self._start :][: len(target)]
        target[: len(found)] = found
        self._position += len(found)
        return len(found)

    def _fill(self) -> None:
        follows = self._position == self._start + len(self._range)
        self._next_bytes = min(2 * self._next_bytes, _LARGEST_RANGE) if follows else _SMALLEST_RANGE
        self._range = self._fetch(self._position, min(self._position + self._next_bytes, self._size))
        self._start = self._position
