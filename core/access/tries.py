"""Limits on wrong keys, by the client's address and by the key that was tried.

Only failures count, so a correct key is never limited by its own use. A failure counts for the address that it came from.
Therefore wrong keys from one address do not lock out another one. A key that this process has accepted from an address
within the last minute is not limited there. So a client that works is not affected by another one behind the same address.
"""

import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from limits import RateLimitItemPerMinute

from core.access.rate_limits import RateLimiter
from core.errors import NotSignedIn, TooManyTries

_ACCEPTED_SECONDS = 60.0
_MOST_ACCEPTED = 10_000


class Tries:
    """Counts the wrong keys of each address."""

    def __init__(self, limiter: RateLimiter, per_address: int, per_key: int) -> None:
        self._limiter = limiter
        self._per_address = RateLimitItemPerMinute(per_address, namespace="wrong-keys-of-address")
        self._per_key = RateLimitItemPerMinute(per_key, namespace="wrong-key")
        self._accepted: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def trying(self, address: str, credential: str) -> Iterator[None]:
        """Check a credential within the block, which raises NotSignedIn for a wrong one.

        Raises TooManyTries before the block if the address or the credential has had too many failures in a minute.
        """
        origin, tried = network_of(address), hashlib.sha256(credential.encode("utf-8", "surrogatepass")).hexdigest()
        if not self._was_accepted(origin, tried):
            self._refuse_if_limited(origin, tried)
        try:
            yield
        except NotSignedIn:
            self._forget(origin, tried)
            self._limiter.hit(self._per_key, tried)
            self._limiter.hit(self._per_address, origin)
            raise
        self._remember(origin, tried)

    def _refuse_if_limited(self, origin: str, tried: str) -> None:
        for limit, key in ((self._per_key, tried), (self._per_address, origin)):
            window = self._limiter.window(limit, key)
            if window.remaining == 0:
                wait = f"Wait {window.reset_seconds} seconds."
                raise TooManyTries(f"Too many wrong keys were tried from your address. {wait}", window.reset_seconds)

    def _was_accepted(self, origin: str, tried: str) -> bool:
        with self._lock:
            return self._accepted.get((origin, tried), -_ACCEPTED_SECONDS) > time.monotonic() - _ACCEPTED_SECONDS

    def _remember(self, origin: str, tried: str) -> None:
        with self._lock:
            self._accepted[origin, tried] = time.monotonic()
            self._accepted.move_to_end((origin, tried))
            while len(self._accepted) > _MOST_ACCEPTED:
                self._accepted.popitem(last=False)

    def _forget(self, origin: str, tried: str) -> None:
        with self._lock:
            self._accepted.pop((origin, tried), None)


def network_of(address: str) -> str:
    """The address, or the /64 network of an IPv6 address, all of which one client may use."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
