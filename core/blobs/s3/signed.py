"""Requests that obstore has no function for, sent to addresses that obstore signs."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlencode

from core.blobs.s3.bucket import Bucket
from core.blobs.s3.failures import RequestFailed, code_of

_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Response:
    """A response without an error."""

    headers: Mapping[str, str]
    body: bytes


def send(
    bucket: Bucket,
    method: str,
    name: str,
    query: Mapping[str, str],
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Send a request for an object, whose name includes the bucket's prefix, or for the bucket (an empty name).

    It is repeated like those of obstore. Raises RequestFailed, and StoreFailed without credentials.
    """
    for attempt in count():
        try:
            return _send(bucket, method, name, query, body, headers or {})
        except RequestFailed as error:
            passing = error.status is None or error.status in _PASSING
            if not passing or bucket.tries == 1 or attempt > bucket.tries:
                raise
        time.sleep(min(_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS))
    raise AssertionError("the loop ends by a result or an error")


def _send(
    bucket: Bucket, method: str, name: str, query: Mapping[str, str], body: bytes, headers: Mapping[str, str]
) -> Response:
    address = bucket.signed_query(method, name, urlencode(query))
    has_body = method in ("PUT", "POST")
    request = urllib.request.Request(address, body if has_body else None, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=bucket.seconds) as response:
            found = Response(response.headers, response.read())
    except urllib.error.HTTPError as error:
        with error:
            raise RequestFailed(error.code, _text(error)) from None
    except (OSError, http.client.HTTPException) as error:
        raise RequestFailed(None, type(error).__name__) from None
    if found.body and code_of(text := found.body.decode(errors="replace")):
        raise RequestFailed(500, text)  # S3 may begin the response to a long request before it fails
    return found


def _text(error: urllib.error.HTTPError) -> str:
    try:
        return error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return ""
