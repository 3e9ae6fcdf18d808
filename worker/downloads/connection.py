"""One HTTP GET to an address that this platform may import from, along redirects that are checked as well.

By default only hosts of the public internet are reached. Otherwise a user who may import could make the worker call
services that only its own network can reach (server-side request forgery). A host name is resolved once, and the
connection goes to the addresses found then: a second look-up could return another address.
"""

import io
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast
from urllib.parse import urljoin, urlsplit

from core.access import import_urls
from core.access.allowlist import HttpAddress
from core.access.import_urls import WebFile
from core.access.pinned import PinnedConnection, UnknownHost, is_public, look_up
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_SECONDS = 60.0
"""Longest time that the head of a response, or one read of its body, may take."""
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", "User-Agent": "proximal"}


class TimedResponse(HTTPResponse):
    """A response with a deadline for its head, and for each read that follows a call of `restart_deadline`.

    A socket timeout alone would let a server take that long for every single byte.
    """

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        self._timed = _TimedSocket(sock)
        super().__init__(cast(socket.socket, self._timed), *arguments, **named)

    def restart_deadline(self) -> None:
        """Give the next read READ_SECONDS from now."""
        self._timed.restart_deadline()


class _TimedSocket(io.RawIOBase):
    """The bytes of a socket. A read after the deadline raises TimeoutError."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._sock, self._file = sock, sock.makefile("rb", buffering=0)
        self.restart_deadline()

    def restart_deadline(self) -> None:
        self._deadline = time.monotonic() + READ_SECONDS

    def makefile(self, mode: str) -> BinaryIO:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True)
class OpenResponse:
    """A response whose body has not been read, and its connection. Closing it closes both."""

    response: TimedResponse
    connection: HTTPConnection

    def close(self) -> None:
        self.response.close()
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def http_get(url: str, settings: Settings, headers: Mapping[str, str]) -> OpenResponse:
    """Send a GET and follow redirects. Uses no proxy, no cookie and no credentials.

    A redirect may lead to any public https address, or to one below an allowed prefix: file hosts redirect to their
    stores. Raises FetchFailed and ImportRefused; OSError and HTTPException pass unchanged.
    """
    for _ in range(_MOST_REDIRECTS + 1):
        connection = _connection(url, settings)
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers={**_HEADERS, **headers})
            opened = OpenResponse(cast(TimedResponse, connection.getresponse()), connection)
        except BaseException:
            connection.close()
            raise
        if opened.response.status not in _REDIRECTS:
            return opened
        opened.close()
        url = _redirect_target(url, opened.response.getheader("Location"), settings)
    raise FetchFailed(f"{urlsplit(url).hostname} sent more than {_MOST_REDIRECTS} redirects.")


def resolve_host(host: str, port: int, private_too: bool) -> list[str]:
    """The IP addresses of `host` that may be connected to.

    Raises FetchFailed if the name does not resolve, and ImportRefused if it resolves to private addresses only.
    """
    try:
        every = look_up(host, port)
    except UnknownHost as error:
        raise FetchFailed(str(error)) from error
    allowed = [address for address in every if private_too or is_public(address)]
    if not allowed:
        raise ImportRefused(f"{host} is in a private network, which this platform does not import from.", param="url")
    return allowed


class _PinnedConnection(PinnedConnection):
    response_class = TimedResponse


def _connection(url: str, settings: Settings) -> _PinnedConnection:
    try:
        address = HttpAddress.parse(url)
    except ValueError as error:
        raise ImportRefused(f"It leads to an invalid address: {error}.", param="url") from error
    named = import_urls.host_is_named(WebFile(url), settings.import_urls)
    hub = HttpAddress.parse(settings.hub_url)
    is_hub = (address.scheme, address.host, address.port) == (hub.scheme, hub.host, hub.port)
    return _PinnedConnection(
        address, resolve_host(address.host, address.port, private_too=named or is_hub), READ_SECONDS
    )


def _redirect_target(url: str, location: str | None, settings: Settings) -> str:
    if not location:
        raise FetchFailed(f"{urlsplit(url).hostname} sent a redirect without a target.")
    try:
        target = urljoin(url, location).partition("#")[0]
        scheme = urlsplit(target).scheme
        refused = scheme != "https" and (
            scheme != "http" or import_urls.import_refusal(WebFile(target), settings.import_urls) is not None
        )
    except ValueError as error:
        raise ImportRefused(f"It leads to an invalid address: {error}.", param="url") from error
    if refused:
        raise ImportRefused(f"It leads to {scheme}://, which this platform does not import from.", param="url")
    return target
