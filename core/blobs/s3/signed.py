"""Requests that obstore has no function for, sent to addresses that obstore signs."""

import base64
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlencode

from core.blobs.s3.bucket import Bucket, ObjectExists, UnusableResponse
from core.blobs.s3.failures import RequestFailed, code_of
from core.blobs.s3.sums import SumReader, plain

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


def write(
    bucket: Bucket,
    method: str,
    name: str,
    query: Mapping[str, str],
    body: bytes,
    headers: Mapping[str, str],
    *,
    create: bool,
) -> Response:
    """Send a request that makes an object. With `create`, raises ObjectExists if there is one; and RequestFailed."""
    condition = {"If-None-Match": "*"} if create else {}
    try:
        return send(bucket, method, name, query, body, {**headers, **condition})
    except RequestFailed as error:
        if create and (error.status == 412 or code_of(error) == "PreconditionFailed"):
            raise ObjectExists(name) from None
        raise


def put_object(bucket: Bucket, name: str, sums: SumReader, headers: Mapping[str, str], *, create: bool) -> str:
    """Store a file that is one part. Returns the ETag. Raises as `write`, and UnusableResponse without an ETag."""
    piece = next(sums.parts())
    checked = {**headers, **content_md5(sums.last_md5)}
    response = write(bucket, "PUT", name, {"x-id": "PutObject"}, piece, checked, create=create)
    return etag_of(response)


def etag_of(response: Response) -> str:
    """The ETag in the headers of a response. Raises UnusableResponse without one."""
    if not (etag := plain(response.headers.get("ETag"))):
        raise UnusableResponse("the response to a write has no ETag")
    return etag


def content_md5(md5_sum: bytes) -> dict[str, str]:
    """The header by which a server refuses a body that was changed on its way (BadDigest). obstore does not send it."""
    return {"Content-MD5": base64.b64encode(md5_sum).decode()}


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
