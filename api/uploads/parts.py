"""Receiving a part: from the connection into its blob's draft, a few pieces at a time."""

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
from core.blobs import Draft
from core.db import session_scope
from core.errors import ChecksumMismatch, InvalidRequest
from core.uploads import store
from core.uploads.parts import part_key
from core.uploads.receiving import expected_bytes

_AT_ONCE = 1024 * 1024
"""Bytes that are gathered for one turn of a thread that writes them."""
_SUM = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):\s*(?:,|$)")
PART_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

PartNumber = Annotated[int, Path(ge=1, le=2**62, description="Which part, from 1.")]
ContentDigest = Annotated[
    str | None, Header(description="`sha-256=:…:` of the part (RFC 9530); it is refused if other bytes arrive.")
]


def _wanted(upload_id: str, number: PartNumber, principal: PrincipalDep, settings: SettingsDep) -> int:
    """How large the part must be. In a short transaction of its own: no connection is held while a part trickles in."""
    with session_scope(settings.database_url) as session:
        return expected_bytes(store.get(session, principal.key_id, upload_id), number)


async def _receive(
    request: Request,
    upload_id: str,
    number: PartNumber,
    wanted: Annotated[int, Depends(_wanted)],
    blobs: BlobsDep,
    content_digest: ContentDigest = None,
) -> AsyncIterator[Draft]:
    """The whole part in a draft, which is gone in the end unless it was kept."""
    promised = _promised(content_digest)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) != wanted:
        raise _wrong_size(number, int(length), wanted)
    with blobs.draft(part_key(upload_id, number)) as draft:
        writing = _Writing(draft, promised is not None)
        try:
            await _read(request, writing, number, wanted)
        except ClientDisconnect as error:
            told = f"The connection was lost after {writing.received} of {wanted} bytes; nothing of the part is kept."
            raise BadRequest(told) from error
        if promised is not None and writing.sum.digest() != promised:
            raise ChecksumMismatch(f"Part {number} did not arrive with the SHA-256 of its Content-Digest.")
        yield draft


PartDraft = Annotated[Draft, Depends(_receive)]


class _Writing:
    """A part that is being received, with the bytes that are not written yet."""

    def __init__(self, draft: Draft, with_sum: bool) -> None:
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
        """Blocks: for a thread."""
        for piece in self._waiting:
            self._draft.write(piece)
            if self._with_sum:
                self.sum.update(piece)
        self._waiting.clear()
        self._waiting_bytes = 0

    def finish(self) -> None:
        """Blocks: for a thread. The disk's delay is had here, before anybody holds a lock."""
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


def _wrong_size(number: int, came: int, wanted: int) -> InvalidRequest:
    detail = f"must have {wanted} bytes; {came} came"
    return InvalidRequest(f"Part {number} {detail}.", param="body", errors=[{"pointer": "#", "detail": detail}])


def _promised(header: str | None) -> bytes | None:
    """The SHA-256 of a `Content-Digest` (RFC 9530); other algorithms that it may name are passed over."""
    found = _SUM.search(header or "")
    if found is None:
        return None
    try:
        return base64.b64decode(found[1], validate=True)
    except binascii.Error as error:
        raise InvalidRequest("Content-Digest holds no base64.", param="Content-Digest") from error
