"""Receives the parts of an upload, and completes it.

A part's row is written after its blob, under the lock of the upload's row. So a part with a row is whole, and when the same
part is sent twice at once, the second one is compared with the first.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import BinaryIO

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.blobs import BlobDraft, BlobStore
from core.errors import ChecksumMismatch, NotFound, PartDiffers, PartsMissing, UploadNotOpen
from core.models import Upload, UploadPart
from core.models.uploads import UploadStatus
from core.uploads.parts import part_count, part_key, part_size
from core.uploads.store import postpone_expiry

MOST_NAMED = 1000
"""Most missing parts that an error lists. It counts all of them."""
_CHUNK = 1024 * 1024


def expected_bytes(upload: Upload, number: int) -> int:
    """The size that part `number` must have. Raises NotFound if the file has no such part, and UploadNotOpen."""
    if upload.bytes is None or upload.url is not None:
        raise UploadNotOpen(f"{upload.id} is fetched from an address: it takes no parts.")
    size = part_size(number, upload.bytes, upload.part_bytes)
    if not size:
        raise NotFound(f"{upload.id} has the parts 1 to {part_count(upload.bytes, upload.part_bytes)}.")
    return size


def keep_part(session: Session, blobs: BlobStore, upload: Upload, number: int, draft: BlobDraft) -> UploadPart:
    """Store a whole part; the caller has locked `upload`. The same bytes again change nothing.

    Raises PartDiffers for other bytes, and UploadNotOpen.
    """
    size = expected_bytes(upload, number)
    part = session.get(UploadPart, (upload.id, number))
    if part is not None:
        with draft.open() as new, blobs.open(part_key(upload.id, number)) as old:
            if not _equal(new, old):
                raise PartDiffers(f"Part {number} of {upload.id} was received before, with other bytes.", part=number)
        return part
    if upload.status != UploadStatus.OPEN:
        raise UploadNotOpen(f"{upload.id} is {upload.status}: it takes no parts.")
    draft.keep()
    part = UploadPart(upload_id=upload.id, number=number, bytes=size)
    session.add(part)
    postpone_expiry(upload)
    session.flush()
    return part


def received_parts(session: Session, upload_ids: Sequence[str]) -> dict[str, list[int]]:
    """For each upload, the numbers of its received parts, in order."""
    query = select(UploadPart.upload_id, UploadPart.number).where(UploadPart.upload_id.in_(upload_ids))
    parts: defaultdict[str, list[int]] = defaultdict(list)
    for upload_id, number in session.execute(query.order_by(UploadPart.upload_id, UploadPart.number)):
        parts[upload_id].append(number)
    return parts


def refuse_missing(session: Session, upload: Upload) -> int:
    """The number of parts. Raises PartsMissing unless all of them were received, and UploadNotOpen."""
    if upload.bytes is None or upload.status not in (UploadStatus.OPEN, UploadStatus.COMPLETE):
        raise UploadNotOpen(f"{upload.id} is {upload.status}.")
    received = set(received_parts(session, [upload.id])[upload.id])
    count = part_count(upload.bytes, upload.part_bytes)
    missing = [number for number in range(1, count + 1) if number not in received]
    if missing:
        first = ", ".join(map(str, missing[:10])) + (" and others" if len(missing) > 10 else "")
        raise PartsMissing(
            f"{len(missing)} of {count} parts have not been received: {first}.",
            missing=missing[:MOST_NAMED],
            missing_count=len(missing),
        )
    return count


def complete(session: Session, upload: Upload, actual: str, expected: str | None) -> None:
    """Complete an upload whose bytes have the SHA-256 `actual`; the caller has locked `upload`.

    Raises ChecksumMismatch if this request or the creation of the upload named another one.
    """
    for sha256 in (expected, upload.sha256):
        if sha256 is not None and sha256 != actual:
            advice = "Delete the upload and send the file again."
            raise ChecksumMismatch(
                f"The received bytes have the SHA-256 {actual}, not {sha256}. {advice}", param="sha256"
            )
    if upload.status != UploadStatus.COMPLETE:
        mark_complete(upload, actual)
        session.flush()


def mark_complete(upload: Upload, sha256: str) -> None:
    """Set the columns of a complete upload, which can be read from now on."""
    upload.status, upload.sha256, upload.completed_at = UploadStatus.COMPLETE.value, sha256, func.now()
    postpone_expiry(upload)


def _equal(one: BinaryIO, other: BinaryIO) -> bool:
    while True:
        chunk = one.read(_CHUNK)
        if chunk != other.read(_CHUNK):
            return False
        if not chunk:
            return True
