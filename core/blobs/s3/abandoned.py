"""Ends multipart uploads that a killed process has left. They cost space, and no list of objects shows them."""

import http.client
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode
from xml.etree import ElementTree

from core.blobs.s3.bucket import Bucket
from core.errors import StoreFailed

_SECONDS = 60
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Upload:
    key: str
    id: str
    began: float


def end_uploads(bucket: Bucket, older_than: float) -> None:
    """Abort the multipart uploads below the bucket's prefix that began so many seconds ago. Raises StoreFailed."""
    for upload in list(_uploads(bucket)):
        if time.time() - upload.began > older_than:
            log.info("the multipart upload of %s is ended: its process was killed", upload.key)
            _send(bucket, "DELETE", upload.key, {"uploadId": upload.id})


def _uploads(bucket: Bucket) -> Iterator[_Upload]:
    query = {"uploads": "", "prefix": f"{bucket.prefix}/" if bucket.prefix else ""}
    while True:
        page = ElementTree.fromstring(_send(bucket, "GET", "", query))
        for found in page.iterfind("{*}Upload"):
            began = datetime.fromisoformat(_text(found, "Initiated"))
            began = began if began.tzinfo else began.replace(tzinfo=UTC)
            yield _Upload(_text(found, "Key"), _text(found, "UploadId"), began.timestamp())
        if _text(page, "IsTruncated") != "true":
            return
        query |= {"key-marker": _text(page, "NextKeyMarker"), "upload-id-marker": _text(page, "NextUploadIdMarker")}


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _send(bucket: Bucket, method: str, path: str, query: dict[str, str]) -> bytes:
    request = urllib.request.Request(bucket.signed_query(method, path, urlencode(query)), method=method)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            return bytes(response.read())
    except urllib.error.HTTPError as error:
        if error.code == 404 and method == "DELETE":  # it was completed or ended meanwhile
            return b""
        raise StoreFailed(f"The S3 server does not list or end multipart uploads ({error.code}).") from None
    except (OSError, http.client.HTTPException) as error:
        raise StoreFailed(f"The S3 server does not respond ({type(error).__name__}).") from None
