"""Time-outs for requests that do not arrive completely, and a limit on their number for each address.

A client that opens connections and sends nothing, or sends a request byte by byte, occupies a file descriptor for each
(Slowloris). The rules follow Apache's mod_reqtimeout: a time for the header, and for the body a time that grows with the bytes received.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Protocol

from core.access.tries import network_of

TEND_SECONDS = 1.0
SLOWEST_BODY = 500
"""Bytes per second. A body may arrive at this rate for as long as it takes."""
BURST_SECONDS = 1.0
"""Age from which a connection counts as waiting. The requests of connections that were opened at once arrive within it."""
log = logging.getLogger(__name__)


class Connection(Protocol):
    """A connection whose next request has not arrived completely."""

    peer: str
    """The address of the other end: a client, or a reverse proxy."""
    since: float
    """When the wait for the present part of the request began, in seconds of the event loop's clock."""
    has_header: bool
    """Whether the header of the request is complete, so that the body is awaited."""
    received: int
    """Bytes of the body."""

    def is_held_back(self) -> bool:
        """Whether the server does not read at present, because the application has not taken what arrived."""

    def time_out(self, reason: str) -> None:
        """Send 408 if part of a request has arrived, and close the connection."""


class RequestTimeouts:
    """The connections that wait for the rest of a request.

    `header_seconds`: time for a header, also the first one of a connection. `body_seconds`: time for a body, to which a
    second is added for every 500 bytes. `per_address`: most waiting connections of one address; beyond it, the oldest are
    closed. Trusted proxies have no such limit, because they open connections for all clients.
    """

    def __init__(
        self, header_seconds: float, body_seconds: float, per_address: int, proxies: Sequence[str] = ()
    ) -> None:
        self._header_seconds, self._body_seconds, self._per_address = header_seconds, body_seconds, per_address
        self._proxies = [ip_network(proxy) for proxy in proxies]
        self._waiting: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """The connection waits for a request, or for more of one."""
        self._waiting[connection] = None

    def remove(self, connection: Connection) -> None:
        """The request has arrived, or the connection is closed."""
        self._waiting.pop(connection, None)

    def tend(self, now: float) -> None:
        """Close the connections whose time is over, and those beyond the limit of their address. Called every second."""
        for connection in list(self._waiting):
            if connection.is_held_back():
                connection.since += TEND_SECONDS
            elif now - connection.since > self._allowed(connection):
                part = "body" if connection.has_header else "header"
                self._close(connection, f"The {part} of the request did not arrive in time.")
        for connections in self._by_address(now):
            connections.sort(key=lambda one: (one.has_header, one.since))
            for connection in connections[: -self._per_address]:
                self._close(connection, "Your address has too many requests that did not arrive completely.")

    def _allowed(self, connection: Connection) -> float:
        if connection.has_header:
            return self._body_seconds + connection.received / SLOWEST_BODY
        return self._header_seconds

    def _by_address(self, now: float) -> Iterable[list[Connection]]:
        found: dict[str, list[Connection]] = defaultdict(list)
        for connection in self._waiting:
            if now - connection.since > BURST_SECONDS and not self._is_proxy(connection.peer):
                found[network_of(connection.peer)].append(connection)
        return found.values()

    def _is_proxy(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return True  # a Unix socket, which only this machine reaches
        return any(address in network for network in self._proxies)

    def _close(self, connection: Connection, reason: str) -> None:
        self.remove(connection)
        log.info("closing a connection of %s: %s", connection.peer, reason)
        connection.time_out(reason)
