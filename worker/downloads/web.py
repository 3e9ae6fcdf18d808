"""A file over HTTP, taken up again where a connection breaks."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

from core.access.import_urls import WebFile
from core.errors import FetchFailed
from core.settings import Settings
from worker.downloads.connection import Answer, ask
from worker.downloads.paced import SILENCE_SECONDS
from worker.downloads.source import Source

TRIES = 5
"""In a row without a single byte."""
_PIECE = 256 * 1024
_LEAST_A_SECOND = 64 * 1024
"""Bytes, from the first answer on, however often the connection breaks. A server that drips would hold the worker for ever."""
_GRACE_SECONDS = 120.0
_MAY_PASS = (429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-")


class _Passing(Exception):
    """Trouble that another try may not meet."""


@contextmanager
def download(wanted: WebFile, settings: Settings, pause: Callable[[float], None] = time.sleep) -> Iterator[Source]:
    """The file behind an address. FetchFailed, ImportRefused. `pause`: waits so many seconds before another try."""
    flow = _Flow(wanted.url, settings, pause)
    try:
        flow.begin()
        yield Source(wanted.name, flow.size, flow.pieces())
    finally:
        flow.close()


class _Flow:
    """What has come of a file, and how to ask for the rest."""

    def __init__(self, url: str, settings: Settings, pause: Callable[[float], None]) -> None:
        self._url, self._settings, self._pause = url, settings, pause
        self._host = urlsplit(url).hostname
        self._answer: Answer | None = None
        self._validator: str | None = None
        self._position = 0
        self._began = 0.0
        self.size: int | None = None

    def begin(self) -> None:
        """The first answer, which says what there is to come."""
        self._patiently(self._open)
        self._began = time.monotonic()

    def pieces(self) -> Iterator[bytes]:
        while piece := self._patiently(self._read):
            self._position += len(piece)
            yield piece

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def _patiently(self, action: Callable[[], bytes]) -> bytes:
        for attempt in range(TRIES):
            try:
                return action()
            except (OSError, HTTPException, _Passing) as error:
                self.close()
                trouble = error
            if self._position and self._validator is None:
                break  # nothing says whether the rest would be of the same file
            if attempt + 1 < TRIES:
                self._pause(2.0**attempt)
        raise FetchFailed(f"{self._host}: {_told(trouble)} after {self._position} bytes.") from trouble

    def _open(self) -> bytes:
        asked = {}
        if self._position and self._validator:
            asked = {"Range": f"bytes={self._position}-", "If-Range": self._validator}
        self._answer = ask(self._url, self._settings, asked)
        response = self._answer.response
        if response.status in _MAY_PASS:
            raise _Passing(f"it answered {response.status} {response.reason}")
        if asked:
            self._go_on(response)
        elif response.status != 200:
            raise FetchFailed(f"{self._host} answered {response.status} {response.reason}.")
        else:
            self._validator = _strong(response.getheader("ETag")) or response.getheader("Last-Modified")
            self.size = None if response.chunked else response.length
        return b""

    def _go_on(self, response: HTTPResponse) -> None:
        found = _RANGE.match(response.getheader("Content-Range") or "")
        if response.status != 206 or found is None or int(found[1]) != self._position:
            raise FetchFailed(f"{self._host}: the file changed, or cannot be taken up, after {self._position} bytes.")

    def _read(self) -> bytes:
        if self._answer is None:
            self._open()
        assert self._answer is not None
        self._answer.response.give_time()
        piece = self._answer.response.read1(_PIECE)
        if not piece and self.size is not None and self._position < self.size:
            raise _Passing("the connection ended")
        self._refuse_dripping()
        return piece

    def _refuse_dripping(self) -> None:
        took = time.monotonic() - self._began
        if took > _GRACE_SECONDS + self._position / _LEAST_A_SECOND:
            raise FetchFailed(f"{self._host} is too slow: {self._position} bytes in {took:.0f} seconds.")


def _strong(etag: str | None) -> str | None:
    """A weak one does not promise the same bytes."""
    return None if etag is None or etag.startswith("W/") else etag


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no byte for {SILENCE_SECONDS:g} s"
    if isinstance(error, _Passing):
        return str(error)
    return f"the connection failed ({error or type(error).__name__})"
