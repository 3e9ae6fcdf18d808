"""Repeats a request after a temporary error. Every POST carries an `Idempotency-Key`, so that it takes effect once."""

import uuid
from typing import Any

from tenacity import RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from proximal.errors import ApiError, Unreachable

ATTEMPTS = 4
LONGEST_WAIT = 30.0
"""Seconds. A longer `Retry-After` is left to the caller."""
_PASSING = (429, 502, 503, 504)
_ONCE = ("/healthz", "/readyz")
"""Paths whose errors are results."""
_GROWING = wait_random_exponential(multiplier=0.25, max=4.0)


def policy(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of tenacity for a request. A body that is read from an iterator cannot be sent again."""
    streamed = not isinstance(options.get("content", b""), bytes | str)
    attempts = 1 if streamed or path in _ONCE else ATTEMPTS
    return {
        "stop": stop_after_attempt(attempts),
        "wait": _pause,
        "retry": retry_if_exception(_is_passing),
        "reraise": True,
    }


def with_key(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a request, with an `Idempotency-Key` for a POST. All attempts have the same one."""
    if method != "POST":
        return options
    return {**options, "headers": {"Idempotency-Key": str(uuid.uuid4()), **(options.get("headers") or {})}}


def _is_passing(error: BaseException) -> bool:
    if isinstance(error, Unreachable):
        return True
    if not isinstance(error, ApiError) or error.should_retry is False:
        return False
    if error.retry_after is not None and error.retry_after > LONGEST_WAIT:
        return False
    return error.status in _PASSING or error.code == "request_in_flight"


def _pause(state: RetryCallState) -> float:
    """Seconds until the next attempt: those of `Retry-After`, or a growing random time."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ApiError) else None
    return float(_GROWING(state)) if asked is None else asked
