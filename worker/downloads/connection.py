"""One request to the web: to an address that was looked at, along redirects that are looked at too."""

import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from types import TracebackType
from typing import Self, cast
from urllib.parse import urljoin, urlsplit

from core.access import import_urls
from core.access.allowlist import Address
from core.access.import_urls import WebFile
from core.errors import FetchFailed, ImportRefused
from core.settings import Settings
from worker.downloads.addresses import addresses_of
from worker.downloads.paced import SILENCE_SECONDS, PacedResponse

_CONNECT_SECONDS = 10.0
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", "User-Agent": "proximal"}


@dataclass(frozen=True)
class Answer:
    """A response, and the connection that it comes by."""

    response: PacedResponse
    connection: HTTPConnection

    def close(self) -> None:
        self.response.close()
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def ask(url: str, settings: Settings, headers: Mapping[str, str]) -> Answer:
    """The answer to a GET. Raises OSError and HTTPException as they come; FetchFailed, ImportRefused.

    A redirect may lead to any public https address, or below a prefix of the operator's: file hosts send people on to
    their stores. No proxy, no cookie, no credentials.
    """
    for _ in range(_MOST_REDIRECTS + 1):
        connection = _connection(url, settings)
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers={**_HEADERS, **headers})
            answer = Answer(cast(PacedResponse, connection.getresponse()), connection)
        except BaseException:
            connection.close()
            raise
        if answer.response.status not in _REDIRECTS:
            return answer
        answer.close()
        url = _next(url, answer.response.getheader("Location"), settings)
    raise FetchFailed(f"{urlsplit(url).hostname} redirects too often.")


class _Pinned(HTTPConnection):
    """To one of these addresses, whatever the host's name would resolve to by now."""

    response_class = PacedResponse

    def __init__(self, address: Address, numbers: Sequence[str]) -> None:
        super().__init__(address.host, address.port, timeout=SILENCE_SECONDS)
        self._numbers = numbers
        self._context = ssl.create_default_context() if address.scheme == "https" else None
        self.default_port = 443 if self._context else 80

    def connect(self) -> None:
        sock = self._first_that_answers()
        sock.settimeout(self.timeout)
        self.sock = self._context.wrap_socket(sock, server_hostname=self.host) if self._context else sock

    def _first_that_answers(self) -> socket.socket:
        trouble: OSError | None = None
        for number in self._numbers:
            try:
                return socket.create_connection((number, self.port), _CONNECT_SECONDS)
            except OSError as error:
                trouble = error
        assert trouble is not None
        raise trouble


def _connection(url: str, settings: Settings) -> _Pinned:
    try:
        address = Address.of(url)
    except ValueError as error:
        raise ImportRefused(f"It leads to an address that is not one: {error}.", param="url") from error
    named = import_urls.is_named(WebFile(url), settings.import_urls)
    hub = Address.of(settings.hub_url)
    its_hub = (address.scheme, address.host, address.port) == (hub.scheme, hub.host, hub.port)
    return _Pinned(address, addresses_of(address.host, address.port, private_too=named or its_hub))


def _next(url: str, location: str | None, settings: Settings) -> str:
    if not location:
        raise FetchFailed(f"{urlsplit(url).hostname} redirects to nowhere.")
    try:
        onward = urljoin(url, location).partition("#")[0]
        scheme = urlsplit(onward).scheme
        refused = scheme != "https" and (
            scheme != "http" or import_urls.why_not(WebFile(onward), settings.import_urls) is not None
        )
    except ValueError as error:
        raise ImportRefused(f"It leads to an address that is not one: {error}.", param="url") from error
    if refused:
        raise ImportRefused(f"It leads to {scheme}://, where this platform does not import from.", param="url")
    return onward
