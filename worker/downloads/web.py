"""Downloads over HTTP that resume after a broken connection."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

from core.access.import_urls import WebFile
from core.errors import FetchFailed
from core.settings import Settings
from worker.downloads.connection import READ_SECONDS, OpenResponse, http_get
from worker.downloads.files import RemoteFile

TRIES = 5
"""Failed tries in a row, without a single byte in between, before the download fails."""
_CHUNK = 256 * 1024
_LEAST_BYTES_PER_SECOND = 64 * 1024
"""Lowest average rate since the first response. A server that sends a few bytes at a time would hold the worker for ever."""
_GRACE_SECONDS = 120.0
_RETRIED_STATUSES = (429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-")


class _Retry(Exception):
    """An error that another try may not meet."""


@contextmanager
def download(wanted: WebFile, settings: Settings, pause: Callable[[float], None] = time.sleep) -> Iterator[RemoteFile]:
    """Open the file at an address. `pause` waits for so many seconds before another try.

    Raises FetchFailed and ImportRefused.
    """
    transfer = _Transfer(wanted.url, settings, pause)
    try:
        transfer.begin()
        yield RemoteFile(wanted.name, transfer.size, transfer.chunks())
    finally:
        transfer.close()


class _Transfer:
    """The state of one download: the bytes received so far, and the request for the rest."""

    def __init__(self, url: str, settings: Settings, pause: Callable[[float], None]) -> None:
        self._url, self._settings, self._pause = url, settings, pause
        self._host = urlsplit(url).hostname
        self._opened: OpenResponse | None = None
        self._validator: str | None = None
        self._position = 0
        self._began = 0.0
        self.size: int | None = None

    def begin(self) -> None:
        """Send the first request, whose response gives the size."""
        self._with_retries(self._open)
        self._began = time.monotonic()

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._with_retries(self._read):
            self._position += len(chunk)
            yield chunk

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _with_retries(self, action: Callable[[], bytes]) -> bytes:
        for attempt in range(TRIES):
            try:
                return action()
            except (OSError, HTTPException, _Retry) as error:
                self.close()
                last_error = error
            if self._position and self._validator is None:
                break  # without a validator, the rest could come from another version of the file
            if attempt + 1 < TRIES:
                self._pause(2.0**attempt)
        raise FetchFailed(f"{self._host}: {_reason(last_error)} after {self._position} bytes.") from last_error

    def _open(self) -> bytes:
        headers = {}
        if self._position and self._validator:
            headers = {"Range": f"bytes={self._position}-", "If-Range": self._validator}
        self._opened = http_get(self._url, self._settings, headers)
        response = self._opened.response
        if response.status in _RETRIED_STATUSES:
            raise _Retry(f"the server returned {response.status} {response.reason}")
        if headers:
            self._check_resumed(response)
        elif response.status != 200:
            raise FetchFailed(f"{self._host} returned {response.status} {response.reason}.")
        else:
            self._validator = _strong(response.getheader("ETag")) or response.getheader("Last-Modified")
            self.size = None if response.chunked else response.length
        return b""

    def _check_resumed(self, response: HTTPResponse) -> None:
        found = _RANGE.match(response.getheader("Content-Range") or "")
        if response.status != 206 or found is None or int(found[1]) != self._position:
            raise FetchFailed(
                f"{self._host}: the file changed, or the server cannot resume it, after {self._position} bytes."
            )

    def _read(self) -> bytes:
        if self._opened is None:
            self._open()
        assert self._opened is not None
        self._opened.response.restart_deadline()
        chunk = self._opened.response.read1(_CHUNK)
        if not chunk and self.size is not None and self._position < self.size:
            raise _Retry("the connection ended")
        self._refuse_slow()
        return chunk

    def _refuse_slow(self) -> None:
        seconds = time.monotonic() - self._began
        if seconds > _GRACE_SECONDS + self._position / _LEAST_BYTES_PER_SECOND:
            raise FetchFailed(f"{self._host} is too slow: {self._position} bytes in {seconds:.0f} seconds.")


def _strong(etag: str | None) -> str | None:
    """The ETag, or None for a weak one, which does not promise the same bytes."""
    return None if etag is None or etag.startswith("W/") else etag


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no byte for {READ_SECONDS:g} s"
    if isinstance(error, _Retry):
        return str(error)
    return f"the connection failed ({error or type(error).__name__})"
