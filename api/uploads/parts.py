"""Receives the parts of an upload: pieces from the connection are written to the draft of a blob."""

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from api.deps import BlobsDep, PrincipalDep, SettingsDep
from api.problems import BadRequest
from core.blobs import BlobDraft
from core.db import request_scope
from core.errors import ChecksumMismatch, InvalidRequest
from core.uploads import store
from core.uploads.parts import part_key
from core.uploads.receiving import expected_bytes

_AT_ONCE = 1024 * 1024
"""Bytes that are collected before a thread writes them."""
_SUM = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):\s*(?:,|$)")
PART_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

PartNumber = Annotated[int, Path(ge=1, le=2**62, description="Number of the part, from 1.")]
ContentDigest = Annotated[
    str | None,
    Header(
        alias="Content-Digest",
        description="`sha-256=:…:` of the part (RFC 9530). A part with another checksum is refused.",
    ),
]


def _wanted(upload_id: str, number: PartNumber, principal: PrincipalDep, settings: SettingsDep) -> int:
    """The required size of the part, read in a transaction of its own, so that a slow part holds no connection."""
    with request_scope(settings) as session:
        return expected_bytes(store.get(session, principal.owner_id, upload_id), number)


async def _receive(
    request: Request,
    upload_id: str,
    number: PartNumber,
    wanted: Annotated[int, Depends(_wanted)],
    blobs: BlobsDep,
    content_digest: ContentDigest = None,
) -> AsyncIterator[BlobDraft]:
    """Yield the received part as a draft. It is deleted afterwards, unless the route keeps it."""
    announced = _announced(content_digest)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) != wanted:
        raise _wrong_size(number, int(length), wanted)
    with blobs.draft(part_key(upload_id, number)) as draft:
        writing = _Writing(draft, announced is not None)
        try:
            await _read(request, writing, number, wanted)
        except ClientDisconnect as error:
            detail = f"The connection was lost after {writing.received} of {wanted} bytes. The part was discarded; send it again."
            raise BadRequest(detail) from error
        if announced is not None and writing.sum.digest() != announced:
            raise ChecksumMismatch(f"Part {number} does not have the SHA-256 of its Content-Digest.")
        yield draft


PartDraft = Annotated[BlobDraft, Depends(_receive)]


class _Writing:
    """A part that is being received, with the bytes that are not written yet."""

    def __init__(self, draft: BlobDraft, with_sum: bool) -> None:
        self._draft, self._with_sum = draft, with_sum
        self.sum = hashlib.sha256()
        self.received = 0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    @property
    def has_enough(self) -> bool:
        return self._waiting_bytes >= _AT_ONCE

    def add(self, piece: bytes) -> None:
        self._waiting.append(piece)
        self._waiting_bytes += len(piece)
        self.received += len(piece)

    def write(self) -> None:
        """Write the collected pieces. It blocks, so call it in a thread."""
        for piece in self._waiting:
            self._draft.write(piece)
            if self._with_sum:
                self.sum.update(piece)
        self._waiting.clear()
        self._waiting_bytes = 0

    def finish(self) -> None:
        """Write the rest and flush it to disk. It blocks, so call it in a thread, before a row is locked."""
        self.write()
        self._draft.settle()


async def _read(request: Request, writing: _Writing, number: int, wanted: int) -> None:
    async for piece in request.stream():
        writing.add(piece)
        if writing.received > wanted:
            raise _wrong_size(number, writing.received, wanted)
        if writing.has_enough:
            await run_in_threadpool(writing.write)
    if writing.received != wanted:
        raise _wrong_size(number, writing.received, wanted)
    await run_in_threadpool(writing.finish)


def _wrong_size(number: int, received: int, wanted: int) -> InvalidRequest:
    detail = f"must have {wanted} bytes, not {received}"
    return InvalidRequest(f"Part {number} {detail}.", param="body", errors=[{"pointer": "#", "detail": detail}])


def _announced(header: str | None) -> bytes | None:
    """The SHA-256 of a `Content-Digest` (RFC 9530). Other algorithms are ignored."""
    found = _SUM.search(header or "")
    if found is None:
        return None
    try:
        return base64.b64decode(found[1], validate=True)
    except binascii.Error as error:
        raise InvalidRequest("Content-Digest is not valid base64.", param="Content-Digest") from error
