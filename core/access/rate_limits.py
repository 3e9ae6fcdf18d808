"""Rate limits that all API processes share through Redis.

While Redis does not answer, each process counts in its own memory, so that a limit still holds approximately.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from limits import RateLimitItem, RateLimitItemPerSecond, WindowStats
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter, SlidingWindowCounterRateLimiter
from limits.strategies import RateLimiter as Strategy
from redis.connection import ConnectionPool

_TIMEOUT_SECONDS = 0.5
_PAUSE_SECONDS = 5.0
"""Time without a further attempt at Redis after it has not answered."""
_REQUEST_WINDOW_SECONDS = 10
"""A page that sends many requests at once, then few, stays below the limit."""
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RateWindow:
    """The state of one limit for one key."""

    remaining: int
    """Hits that are still allowed now."""
    reset_seconds: int
    """Seconds until more hits are allowed, at least 1."""


class RateLimiter:
    """Counts hits in windows that move with the time.

    `strategy`: MovingWindowRateLimiter stores each hit, and SlidingWindowCounterRateLimiter two numbers for each key.
    """

    def __init__(self, redis_url: str, strategy: type[Strategy] = MovingWindowRateLimiter) -> None:
        pool = ConnectionPool.from_url(
            redis_url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS
        )
        shared = RedisStorage("redis://", connection_pool=pool, wrap_exceptions=True)
        self._shared = strategy(shared)
        self._own = strategy(MemoryStorage())
        self._shared_from = 0.0

    def hit(self, limit: RateLimitItem, *key: str) -> bool:
        """Count a hit. Returns False, without counting it, if the limit is reached."""
        return self._with(lambda limiter: limiter.hit(limit, *key))

    def window(self, limit: RateLimitItem, *key: str) -> RateWindow:
        """The state of the limit. Counts nothing."""
        stats: WindowStats = self._with(lambda limiter: limiter.get_window_stats(limit, *key))
        return RateWindow(max(stats.remaining, 0), max(1, math.ceil(stats.reset_time - time.time())))

    def _with(self, act: Callable[[Strategy], T]) -> T:
        if time.monotonic() >= self._shared_from:
            try:
                return act(self._shared)
            except StorageError as error:
                self._shared_from = time.monotonic() + _PAUSE_SECONDS
                log.warning("rate limits are counted in this process: Redis does not answer: %s", error)
        return act(self._own)


@lru_cache
def rate_limiter(redis_url: str) -> RateLimiter:
    """The limiter of wrong keys of this process."""
    return RateLimiter(redis_url)


class RequestLimit:
    """The limit on the requests of an owner's API keys, or of its browsers: `quota` requests in a window of `seconds`."""

    def __init__(self, redis_url: str, quota: int, seconds: int) -> None:
        self._limiter = RateLimiter(redis_url, SlidingWindowCounterRateLimiter)
        self.quota, self.seconds = quota, seconds
        self._limit = RateLimitItemPerSecond(quota, seconds, namespace="requests")

    def count(self, *sender: str) -> tuple[bool, RateWindow]:
        """Count a request. Returns whether it is allowed, and the state of the limit after it."""
        allowed = self._limiter.hit(self._limit, *sender)
        return allowed, self._limiter.window(self._limit, *sender)


@lru_cache
def request_limit(redis_url: str, per_second: int) -> RequestLimit:
    """The limit of this process. It counts together with the other processes, through Redis."""
    return RequestLimit(redis_url, per_second * _REQUEST_WINDOW_SECONDS, _REQUEST_WINDOW_SECONDS)
