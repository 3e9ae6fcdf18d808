"""One HTTP GET to an address that this platform may import from, along redirects that are checked as well.

By default only hosts of the public internet are reached. Otherwise a user who may import could make the worker call
services that only its own network can reach (server-side request forgery). A host name is resolved once, and the
connection goes to the addresses found then: a second look-up could return another address.
"""

import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast
from urllib.parse import urljoin, urlsplit

from core.access import import_urls
from core.access.allowlist import HttpAddress
from core.access.import_urls import WebFile
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_SECONDS = 60.0
"""Longest time that the head of a response, or one read of its body, may take."""
_CONNECT_SECONDS = 10.0
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", "User-Agent": "proximal"}
_IPV4_IN_IPV6 = ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
"""IPv6 networks whose addresses hold an IPv4 address (IPv4-compatible, NAT64, local NAT64, Teredo, 6to4)."""
_SITE_LOCAL = "fec0::/10"
"""Deprecated, but still routed in some networks."""
_REFUSED_NETWORKS = tuple(map(ipaddress.ip_network, (*_IPV4_IN_IPV6, _SITE_LOCAL)))


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
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"The host name {host} does not resolve.") from error
    every = list(dict.fromkeys(str(address[0]) for *_, address in addresses))
    allowed = [address for address in every if private_too or is_public(address)]
    if not allowed:
        raise ImportRefused(f"{host} is in a private network, which this platform does not import from.", param="url")
    return allowed


def is_public(address: str) -> bool:
    """Whether the IP address is a unicast address of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif any(ip in network for network in _REFUSED_NETWORKS):
            return False
    return ip.is_global and not ip.is_multicast


class _PinnedConnection(HTTPConnection):
    """A connection to one of the given IP addresses, whatever the host name resolves to later."""

    response_class = TimedResponse

    def __init__(self, address: HttpAddress, ip_addresses: Sequence[str]) -> None:
        super().__init__(address.host, address.port, timeout=READ_SECONDS)
        self._ip_addresses = ip_addresses
        self._context = ssl.create_default_context() if address.scheme == "https" else None
        self.default_port = 443 if self._context else 80

    def connect(self) -> None:
        sock = self._connect_to_any()
        sock.settimeout(self.timeout)
        self.sock = self._context.wrap_socket(sock, server_hostname=self.host) if self._context else sock

    def _connect_to_any(self) -> socket.socket:
        last_error: OSError | None = None
        for ip_address in self._ip_addresses:
            try:
                return socket.create_connection((ip_address, self.port), _CONNECT_SECONDS)
            except OSError as error:
                last_error = error
        assert last_error is not None
        raise last_error


def _connection(url: str, settings: Settings) -> _PinnedConnection:
    try:
        address = HttpAddress.parse(url)
    except ValueError as error:
        raise ImportRefused(f"It leads to an invalid address: {error}.", param="url") from error
    named = import_urls.host_is_named(WebFile(url), settings.import_urls)
    hub = HttpAddress.parse(settings.hub_url)
    is_hub = (address.scheme, address.host, address.port) == (hub.scheme, hub.host, hub.port)
    return _PinnedConnection(address, resolve_host(address.host, address.port, private_too=named or is_hub))


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
