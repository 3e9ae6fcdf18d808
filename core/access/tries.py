"""Limits on wrong keys, by the client's address and by the key that was tried.

Only failures count, and only failures are limited: a correct key is accepted from an address that has sent many wrong ones.
A failure counts for the address that it came from. Therefore wrong keys from one address do not limit another one.
A key has 160 random bits, so the limits keep load and log small rather than a guess unlikely.
"""

import hashlib
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from limits import RateLimitItemPerMinute

from core.access.rate_limits import RateLimiter
from core.errors import NotSignedIn, TooManyTries


class Tries:
    """Counts the wrong keys of each address."""

    def __init__(self, limiter: RateLimiter, per_address: int, per_key: int) -> None:
        self._limiter = limiter
        self._per_address = RateLimitItemPerMinute(per_address, namespace="wrong-keys-of-address")
        self._per_key = RateLimitItemPerMinute(per_key, namespace="wrong-key")

    @contextmanager
    def trying(self, address: str, credential: str) -> Iterator[None]:
        """Check a credential within the block, which raises NotSignedIn for a wrong one.

        Raises TooManyTries instead if the address or the credential has had too many failures in a minute.
        """
        try:
            yield
        except NotSignedIn:
            tried = hashlib.sha256(credential.encode("utf-8", "surrogatepass")).hexdigest()
            self._count(network_of(address), tried)
            raise

    def _count(self, origin: str, tried: str) -> None:
        limits = ((self._per_key, tried), (self._per_address, origin))
        for limit, key in limits:
            window = self._limiter.window(limit, key)
            if window.remaining == 0:
                wait = f"Wait {window.reset_seconds} seconds."
                raise TooManyTries(f"Too many wrong keys were tried from your address. {wait}", window.reset_seconds)
        for limit, key in limits:
            self._limiter.hit(limit, key)


def network_of(address: str) -> str:
    """The address, or the /64 network of an IPv6 address, all of which one client may use."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
