"""Time-outs for requests and responses that are stuck on the network, and limits on their number.

A client that opens connections and sends nothing, sends a request byte by byte (Slowloris), or does not read the response
occupies a file descriptor for each. The rules follow Apache's mod_reqtimeout: a time for the header, and for the body a time that
grows with the bytes received. A response may stand still for as long as a body.
"""

import logging
import resource
from collections import defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Protocol

from core.access.tries import network_of

TEND_SECONDS = 1.0
SLOWEST_RATE = 500
"""Bytes per second. A body may arrive, and a response be read, at this rate for as long as it takes."""
BURST_SECONDS = 1.0
"""Age from which a connection counts as waiting. The requests of connections that were opened at once arrive within it."""
_MANY_DESCRIPTORS = 2**20
log = logging.getLogger(__name__)


class Connection(Protocol):
    """A connection that waits for its client: for a request, for the rest of one, or for the reading of a response."""

    peer: str
    """The address of the other end: a client, or a reverse proxy."""
    since: float
    """When the present wait began, in seconds of the event loop's clock."""

    @property
    def has_header(self) -> bool:
        """Whether the header of the request is complete, so that the body is awaited, or the reading of the response."""

    @property
    def moved(self) -> int:
        """Bytes of the body that have arrived, or bytes of the response that the client has read since the wait began."""

    def is_held_back(self) -> bool:
        """Whether the server does not read at present, because the application has not taken what arrived."""

    def time_out(self, reason: str) -> None:
        """Send 408 if part of a request has arrived, and close the connection."""


def half_of_descriptors() -> int:
    """Half of the file descriptors that this process may open."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (_MANY_DESCRIPTORS if allowed == resource.RLIM_INFINITY else allowed) // 2


class RequestTimeouts:
    """The connections that wait for their clients.

    `header_seconds`: time for a header, also the first one of a connection. `body_seconds`: time for a body, to which a
    second is added for every 500 bytes, and for a client to read what was sent, likewise. `per_address`: most waiting connections
    of one address. `most`: those of all addresses. Beyond a limit, the oldest ones are closed, of the address with most of them.
    Trusted proxies have no such limits, because they open connections for all clients.
    """

    def __init__(
        self, header_seconds: float, body_seconds: float, per_address: int, most: int, proxies: Sequence[str] = ()
    ) -> None:
        self._header_seconds, self._body_seconds = header_seconds, body_seconds
        self._per_address, self._most = per_address, most
        self._proxies = [ip_network(proxy) for proxy in proxies]
        self._waiting: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._through_proxies: dict[Connection, None] = {}
        self._count = self._closed = 0
        self._last = ""

    def add(self, connection: Connection) -> None:
        """The connection waits. At the limit of all addresses, an older one is closed at once, since the next second may be too late."""
        if self._is_proxy(connection.peer):
            self._through_proxies[connection] = None
            return
        waiting = self._waiting[network_of(connection.peer)]
        self._count += connection not in waiting
        waiting[connection] = None
        if self._count > self._most:
            largest = max(self._waiting.values(), key=len)
            oldest = min(
                largest, key=lambda one: (connection.since - one.since <= BURST_SECONDS, *_first_to_close(one))
            )
            self._close(oldest, "Too many requests did not arrive completely.")

    def remove(self, connection: Connection) -> None:
        """The request has arrived, the response is being read, or the connection is closed."""
        self._through_proxies.pop(connection, None)
        origin = network_of(connection.peer)
        if connection in self._waiting.get(origin, ()):
            self._count -= 1
            del self._waiting[origin][connection]
            if not self._waiting[origin]:
                del self._waiting[origin]

    def tend(self, now: float) -> None:
        """Close the connections whose time is over, and those beyond the limit of their address. Called every second.

        Logs one line for all that were closed within the second, because an attack closes thousands.
        """
        for connection in list(self._all()):
            if connection.is_held_back():
                connection.since += TEND_SECONDS
            elif now - connection.since > self._allowed(connection):
                part = (
                    "body of the request did not arrive, or the response was not read,"
                    if connection.has_header
                    else "header of the request did not arrive"
                )
                self._close(connection, f"The {part} in time.")
        for waiting in list(self._waiting.values()):
            old = sorted((one for one in waiting if now - one.since > BURST_SECONDS), key=_first_to_close)
            for connection in old[: -self._per_address]:
                self._close(connection, "Your address has too many requests that did not arrive completely.")
        if self._closed:
            log.info("closed %d connections with unfinished requests, the last one of %s", self._closed, self._last)
            self._closed = 0

    def _all(self) -> Iterator[Connection]:
        for connections in (self._through_proxies, *self._waiting.values()):
            yield from connections

    def _allowed(self, connection: Connection) -> float:
        if connection.has_header:
            return self._body_seconds + connection.moved / SLOWEST_RATE
        return self._header_seconds

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return True  # a Unix socket, which only this machine reaches
        return any(address in network for network in self._proxies)

    def _close(self, connection: Connection, reason: str) -> None:
        self.remove(connection)
        self._closed, self._last = self._closed + 1, connection.peer
        connection.time_out(reason)


def _first_to_close(connection: Connection) -> tuple[bool, float]:
    """Connections without a whole header come first, then the oldest ones."""
    return connection.has_header, connection.since
