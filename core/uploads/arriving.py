"""Parts that arrive, and an upload that has all of them.

A part's row is written behind its blob and under the lock of the upload's row. So a part that has a row is whole, and of two
who send the same part at once the second is compared with the first.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import BinaryIO

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.blobs import BlobStore, Draft
from core.errors import ChecksumMismatch, NotFound, PartDiffers, PartsMissing, UploadNotOpen
from core.models import Upload, UploadPart
from core.models.uploads import UploadStatus
from core.uploads import parts
from core.uploads.store import stay

MOST_NAMED = 1000
"""Missing parts that are listed; all are counted."""
_PIECE = 1024 * 1024


def expected_bytes(upload: Upload, number: int) -> int:
    """How large part `number` must be. NotFound for one that the file does not have, UploadNotOpen."""
    if upload.bytes is None or upload.url is not None:
        raise UploadNotOpen(f"{upload.id} is fetched from elsewhere: it takes no parts.")
    size = parts.size_of(number, upload.bytes, upload.part_bytes)
    if not size:
        raise NotFound(f"{upload.id} has the parts 1 to {parts.count(upload.bytes, upload.part_bytes)}.")
    return size


def keep_part(session: Session, blobs: BlobStore, upload: Upload, number: int, draft: Draft) -> UploadPart:
    """Part `number` has arrived whole; `upload` is locked. The same bytes again change nothing; PartDiffers for others."""
    size = expected_bytes(upload, number)
    part = session.get(UploadPart, (upload.id, number))
    if part is not None:
        with draft.open() as new, blobs.open(parts.key(upload.id, number)) as old:
            if not _same(new, old):
                raise PartDiffers(f"Part {number} of {upload.id} has arrived before, with other bytes.", part=number)
        return part
    if upload.status != UploadStatus.OPEN:
        raise UploadNotOpen(f"{upload.id} is {upload.status}: it takes no parts.")
    draft.keep()
    part = UploadPart(upload_id=upload.id, number=number, bytes=size)
    session.add(part)
    stay(upload)
    session.flush()
    return part


def received(session: Session, upload_ids: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the parts that have arrived, in order, of each upload."""
    query = select(UploadPart.upload_id, UploadPart.number).where(UploadPart.upload_id.in_(upload_ids))
    found: defaultdict[str, list[int]] = defaultdict(list)
    for upload_id, number in session.execute(query.order_by(UploadPart.upload_id, UploadPart.number)):
        found[upload_id].append(number)
    return found


def refuse_missing(session: Session, upload: Upload) -> int:
    """How many parts there are. PartsMissing unless all have arrived."""
    if upload.bytes is None or upload.status not in (UploadStatus.OPEN, UploadStatus.COMPLETE):
        raise UploadNotOpen(f"{upload.id} is {upload.status}.")
    have = set(received(session, [upload.id])[upload.id])
    count = parts.count(upload.bytes, upload.part_bytes)
    missing = [number for number in range(1, count + 1) if number not in have]
    if missing:
        first = ", ".join(map(str, missing[:10])) + (" and others" if len(missing) > 10 else "")
        raise PartsMissing(
            f"{len(missing)} of {count} parts have not arrived: {first}.",
            missing=missing[:MOST_NAMED],
            missing_count=len(missing),
        )
    return count


def complete(session: Session, upload: Upload, arrived: str, promised: str | None) -> None:
    """`arrived` is the sum of all parts; `upload` is locked. ChecksumMismatch where another was promised, now or before."""
    for sha256 in (promised, upload.sha256):
        if sha256 is not None and sha256 != arrived:
            advice = "Delete the upload and send the file again."
            raise ChecksumMismatch(
                f"The bytes that arrived have the SHA-256 {arrived}, not {sha256}. {advice}", param="sha256"
            )
    if upload.status != UploadStatus.COMPLETE:
        finish(upload, arrived)
        session.flush()


def finish(upload: Upload, sha256: str) -> None:
    """From now on it can be read."""
    upload.status, upload.sha256, upload.completed_at = UploadStatus.COMPLETE.value, sha256, func.now()
    stay(upload)


def _same(one: BinaryIO, other: BinaryIO) -> bool:
    while True:
        piece = one.read(_PIECE)
        if piece != other.read(_PIECE):
            return False
        if not piece:
            return True
