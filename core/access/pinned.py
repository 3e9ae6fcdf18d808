"""HTTP connections to addresses that a user names, pinned to the IP addresses that were checked.

Otherwise a user could make the platform call services that only its own network can reach (server-side request forgery). A host
name is resolved once, and the connection goes to the addresses found then: a second look-up could return another one.
"""

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection

from core.access.allowlist import HttpAddress

_CONNECT_SECONDS = 10.0
_IPV4_IN_IPV6 = ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
"""IPv6 networks whose addresses hold an IPv4 address (IPv4-compatible, NAT64, local NAT64, Teredo, 6to4)."""
_SITE_LOCAL = "fec0::/10"
"""Deprecated, but still routed in some networks."""
_METADATA = "168.63.129.16/32"
"""Azure's services for its virtual machines: a public address that only they reach."""
_REFUSED_NETWORKS = tuple(map(ipaddress.ip_network, (*_IPV4_IN_IPV6, _SITE_LOCAL, _METADATA)))


class UnknownHost(Exception):
    """A host name that does not resolve."""


def look_up(host: str, port: int) -> list[str]:
    """The IP addresses of a host. Also reads addresses in other forms, such as the decimal `2130706433`. Raises UnknownHost."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHost(f"The host name {host} does not resolve.") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


def is_public(address: str) -> bool:
    """Whether the IP address is a unicast address of the public internet."""
    ip = plain_address(address)
    if any(ip in network for network in _REFUSED_NETWORKS):
        return False
    return ip.is_global and not ip.is_multicast


def plain_address(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IP address without its zone. An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`) is an IPv4 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    return ip


class PinnedConnection(HTTPConnection):
    """A connection to one of the given IP addresses, whatever the host name resolves to later.

    The header `Host`, and the name that a certificate must have, stay those of the address.
    """

    def __init__(self, address: HttpAddress, ip_addresses: Sequence[str], timeout: float) -> None:
        """`timeout`: seconds for each read and write."""
        super().__init__(address.host, address.port, timeout=timeout)
        self._ip_addresses = ip_addresses
        self._context = ssl.create_default_context() if address.scheme == "https" else None
        self.default_port = 443 if self._context else 80
        self._connect_seconds = min(_CONNECT_SECONDS, timeout)
        self._raw: socket.socket | None = None
        self._aborted = False

    def connect(self) -> None:
        sock = self._raw = self._connect_to_any()
        sock.settimeout(self.timeout)
        self.sock = self._context.wrap_socket(sock, server_hostname=self.host) if self._context else sock

    def abort(self) -> None:
        """End the exchange from another thread, so that a read or a handshake in it fails."""
        self._aborted = True
        for sock in (self._raw, self.sock):
            if sock is not None:
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _connect_to_any(self) -> socket.socket:
        last_error: OSError | None = None
        for ip_address in self._ip_addresses:
            if self._aborted:
                break
            try:
                return socket.create_connection((ip_address, self.port), self._connect_seconds)
            except OSError as error:
                last_error = error
        raise last_error or TimeoutError("the time is over")
