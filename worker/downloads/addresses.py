"""Which machines may be asked: by default only those that the whole internet can reach.

Whoever may import could otherwise have the worker ask services that only its own network sees (server-side request forgery).
A name is resolved once, and what it resolved to is what is connected to: a second look could find another address.
"""

import ipaddress
import socket

from core.errors import FetchFailed, ImportRefused

_CARRIERS = ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
"""IPv6 addresses that hold an IPv4 address of any kind (IPv4-compatible, NAT64, local NAT64, Teredo, 6to4)."""
_OF_A_SITE = "fec0::/10"
"""Given up long ago, and still routed in some networks."""
_REFUSED = tuple(map(ipaddress.ip_network, (*_CARRIERS, _OF_A_SITE)))


def addresses_of(host: str, port: int, private_too: bool) -> list[str]:
    """Where `host` may be reached. ImportRefused if only in a private network; FetchFailed if nowhere."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"The host {host} is not known.") from error
    every = list(dict.fromkeys(str(address[0]) for *_, address in found))
    allowed = [address for address in every if private_too or is_public(address)]
    if not allowed:
        raise ImportRefused(f"{host} is in a private network, which this platform does not import from.", param="url")
    return allowed


def is_public(address: str) -> bool:
    """Whether the address is one of the internet's, and of one machine."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif any(ip in network for network in _REFUSED):
            return False
    return ip.is_global and not ip.is_multicast
