"""Multipart uploads that resume: the parts that the server holds are kept, and only the others are sent.

The server alone records the state, so another process or machine can resume. A part is kept if its ETag is the MD5 sum of the
file's part. A file of other bytes under the same key therefore shares no part with an earlier one.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from core.blobs.s3.bucket import Bucket
from core.blobs.s3.failures import RequestFailed, code_of
from core.blobs.s3.signed import Response, content_md5, etag_of, send, write
from core.blobs.s3.sums import SumReader, plain

_AT_ONCE = 4
_NO_LISTING = frozenset({400, 403, 404, 405, 501})
"""Statuses of a server or a key that does not list multipart uploads or their parts."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Upload:
    """An upload that has begun and was not completed."""

    name: str
    id: str
    began: float


@dataclass(frozen=True)
class _Part:
    number: int
    bytes: int
    etag: str
    written: float


def send_file(bucket: Bucket, name: str, sums: SumReader, headers: Mapping[str, str], *, create: bool) -> str:
    """Store a file in parts. Returns the ETag of the object.

    An upload of the object that was begun earlier is resumed. Raises ObjectExists with `create` if there is an object, and RequestFailed.
    """
    upload, held = _unfinished(bucket, name)
    pieces = sums.parts()
    first = next(pieces)
    of_another_file = 1 in held and not _is(held[1], first, sums)
    if upload is None or of_another_file:  # the process of the other one may still run
        upload, held = _begin(bucket, name, headers), {}
    etags = _send_parts(bucket, upload, chain([first], pieces), sums, held)
    return _complete(bucket, upload, etags, create=create)


def end_abandoned(bucket: Bucket, older_than: float) -> None:
    """Abort the uploads below the bucket's prefix that began so many seconds ago, and got no part since.

    Raises RequestFailed.
    """
    for upload in list(_uploads(bucket, bucket.object_name(""))):
        if time.time() - upload.began > older_than and time.time() - _last_write(bucket, upload) > older_than:
            log.info("the multipart upload of %s is ended: its process was killed", upload.name)
            _unless_gone(bucket, "DELETE", upload)


def _unfinished(bucket: Bucket, name: str) -> tuple[_Upload | None, dict[int, _Part]]:
    """The newest upload of an object, with its parts by number. A server that does not list them begins anew."""
    try:
        found = [upload for upload in _uploads(bucket, name) if upload.name == name]
        if not found:
            return None, {}
        newest = max(reversed(found), key=lambda upload: upload.began)
        return newest, {part.number: part for part in _parts(bucket, newest)}
    except RequestFailed as error:
        if error.status not in _NO_LISTING:
            raise
        log.info("%s is sent from its beginning: the server does not list multipart uploads (%s)", name, error.status)
        return None, {}


def _begin(bucket: Bucket, name: str, headers: Mapping[str, str]) -> _Upload:
    response = send(bucket, "POST", name, {"uploads": ""}, headers=headers)
    return _Upload(name, _text(_parsed(response), "UploadId"), time.time())


def _is(part: _Part, piece: bytes, sums: SumReader) -> bool:
    """Whether a part has the bytes that were read last."""
    return (part.bytes, part.etag) == (len(piece), sums.last_md5.hex())


def _send_parts(
    bucket: Bucket, upload: _Upload, pieces: Iterable[bytes], sums: SumReader, held: dict[int, _Part]
) -> list[str]:
    """Send the parts that are not held. Returns the ETag of each part."""
    etags: list[str | Future[str]] = []
    sending: deque[Future[str]] = deque()
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="s3") as threads:
        try:
            for number, piece in enumerate(pieces, 1):
                part = held.get(number)
                if part is not None and _is(part, piece, sums):
                    etags.append(part.etag)
                    continue
                sending.append(threads.submit(_send_part, bucket, upload, number, piece, sums.last_md5))
                etags.append(sending[-1])
                if len(sending) > _AT_ONCE:
                    sending.popleft().result()
            found = [etag if isinstance(etag, str) else etag.result() for etag in etags]
        finally:
            threads.shutdown(cancel_futures=True)
    if held:
        log.info("%s is resumed: %d of %d parts were stored", upload.name, sum(map(_is_held, etags)), len(etags))
    return found


def _is_held(etag: str | Future[str]) -> bool:
    return isinstance(etag, str)


def _send_part(bucket: Bucket, upload: _Upload, number: int, piece: bytes, md5_sum: bytes) -> str:
    """Returns the ETag. A server that verifies MD5 sums refuses a part that was changed on its way."""
    query = {"partNumber": str(number), "uploadId": upload.id}
    headers = content_md5(md5_sum) | {"Content-Type": "application/octet-stream"}
    return etag_of(send(bucket, "PUT", upload.name, query, piece, headers))


def _complete(bucket: Bucket, upload: _Upload, etags: Sequence[str], *, create: bool) -> str:
    """Make the object of its parts. The server refuses another part than the one with the ETag."""
    listed = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{escape(etag)}&quot;</ETag></Part>"
        for number, etag in enumerate(etags, 1)
    )
    body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
    headers = {"Content-Type": "application/xml"}
    response = write(bucket, "POST", upload.name, {"uploadId": upload.id}, body, headers, create=create)
    return plain(_text(_parsed(response), "ETag"))


def _uploads(bucket: Bucket, prefix: str) -> Iterator[_Upload]:
    query = {"uploads": "", "prefix": prefix}
    while True:
        page = _parsed(send(bucket, "GET", "", query))
        for found in page.iterfind("{*}Upload"):
            yield _Upload(_text(found, "Key"), _text(found, "UploadId"), _time(found, "Initiated"))
        if _text(page, "IsTruncated") != "true":
            return
        query |= {"key-marker": _text(page, "NextKeyMarker"), "upload-id-marker": _text(page, "NextUploadIdMarker")}


def _parts(bucket: Bucket, upload: _Upload) -> Iterator[_Part]:
    """The parts of an upload; none if it was completed or ended meanwhile."""
    query: dict[str, str] = {}
    while (response := _unless_gone(bucket, "GET", upload, query)) is not None:
        page = _parsed(response)
        for found in page.iterfind("{*}Part"):
            number, size = int(_text(found, "PartNumber")), int(_text(found, "Size"))
            yield _Part(number, size, plain(_text(found, "ETag")), _time(found, "LastModified"))
        if _text(page, "IsTruncated") != "true":
            return
        query = {"part-number-marker": _text(page, "NextPartNumberMarker")}


def _last_write(bucket: Bucket, upload: _Upload) -> float:
    return max((part.written for part in _parts(bucket, upload)), default=upload.began)


def _unless_gone(bucket: Bucket, method: str, upload: _Upload, query: dict[str, str] | None = None) -> Response | None:
    """The response to a request for an upload; None if it was completed or ended meanwhile."""
    try:
        return send(bucket, method, upload.name, {"uploadId": upload.id} | (query or {}))
    except RequestFailed as error:
        if error.status == 404 and code_of(error) != "NoSuchBucket":
            return None
        raise


def _parsed(response: Response) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(response.body.strip())
    except ElementTree.ParseError as error:
        raise RequestFailed(None, "the response is no XML") from error


def _text(element: ElementTree.Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _time(element: ElementTree.Element, name: str) -> float:
    found = datetime.fromisoformat(_text(element, name))
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
