"""A job's checkpoints, and their files."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.deps import After, BlobsDep, CheckpointDep, JobDep, Limit, OrderBy, SessionDep
from api.jobs.schemas import Checkpoint, CheckpointList
from api.problems import documented
from core import models
from core.blobs import BlobDamaged, BlobStore, Content, fault_of
from core.errors import CheckpointDamaged, InvalidRequest, NotFound, NotSignedIn, StorageUnreadable, StoreFailed
from core.jobs.actions.branch import can_branch
from core.jobs.checkpoints import damage
from core.paging import page

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Entry:
    """A file of the zip and the blob that holds it."""

    name: str
    blob_key: str
    content: Content


def stored_zip(blobs: BlobStore, entries: Sequence[Entry], date: datetime) -> Iterator[bytes]:
    """Pieces of a zip of the blobs, without compression, because weights do not compress."""
    outbox = _Outbox()
    with zipfile.ZipFile(outbox, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date.timetuple()[:6])
            # The sizes follow each file, so the header must already allow more than 4 GiB.
            with archive.open(info, "w", force_zip64=True) as target:
                for chunk in verified_chunks(blobs, entry.blob_key, entry.content):
                    target.write(chunk)
                    yield outbox.take()
        yield outbox.take()
    yield outbox.take()


def verified_chunks(blobs: BlobStore, key: str, content: Content) -> Iterator[bytes]:
    """Pieces of a blob. Raises BlobDamaged before the last piece of other bytes, so that the response stays incomplete."""
    digest, last = hashlib.sha256(), b""
    with blobs.open(key) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            if last:
                yield last
            last = chunk
    if digest.hexdigest() != content.sha256:
        raise BlobDamaged(f"{key} was damaged while it was sent")
    yield last


class _Outbox(io.RawIOBase):
    """A write-only file. `take` returns and removes its content."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # zipfile writes bytes
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


router = APIRouter(tags=["Checkpoints"])


@router.get("/jobs/{job_id}/checkpoints", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_checkpoints(
    job: JobDep,
    session: SessionDep,
    final: Annotated[
        bool | None, Query(description="true: only results of stages. false: only other checkpoints.")
    ] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "asc",
) -> CheckpointList:
    """List the model folders that a job has stored."""
    query = select(models.Checkpoint).filter_by(job_id=job.id)
    if final is not None:
        query = query.filter_by(final=final)
    found = page(session, query, models.Checkpoint, after, limit, order)
    return CheckpointList.from_items([_as_listed(row) for row in found.items], found.has_more)


@router.get(
    "/checkpoints/{checkpoint_id}/download",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, CheckpointDamaged, InvalidRequest, StorageUnreadable, StoreFailed)
    | {
        200: {
            "description": "A zip of the folder.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def download_checkpoint(checkpoint: CheckpointDep, session: SessionDep, blobs: BlobsDep) -> StreamingResponse:
    """Download the folder of a checkpoint as a .zip.

    Every file is verified before the response begins. A damaged checkpoint is refused with 409 `checkpoint_damaged`.
    """
    folder = _folder_name(checkpoint)
    entries = [
        Entry(f"{folder}/{file['path']}", _key(checkpoint, file["path"]), damage.content_of(file))
        for file in checkpoint.files
    ]
    _refuse_damaged(session, blobs, checkpoint)
    body = stored_zip(blobs, entries, checkpoint.created_at)
    return StreamingResponse(body, media_type="application/zip", headers=_attachment(f"{folder}.zip"))


@router.get(
    "/checkpoints/{checkpoint_id}/files/{path:path}",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, CheckpointDamaged, InvalidRequest, StorageUnreadable, StoreFailed)
    | {
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        307: {
            "description": "The address of the file in the platform's bucket, valid for ten minutes. Send no key there."
        },
    },
)
def download_checkpoint_file(checkpoint: CheckpointDep, path: str, session: SessionDep, blobs: BlobsDep) -> Response:
    """Download one file of a checkpoint. Its SHA-256 is verified first; that of a damaged checkpoint is refused with 409.

    A platform that stores its files in a bucket redirects to the bucket. `Repr-Digest` holds the SHA-256 of the file.
    """
    # The name is only compared with the stored list of files, and is never used as a path.
    file = next((file for file in checkpoint.files if file["path"] == path), None)
    if file is None:
        raise NotFound(f"The checkpoint has no file {path!r}.", param="path")
    damage.refuse_marked(checkpoint)
    content = damage.content_of(file)
    if fault := fault_of(blobs, _key(checkpoint, path), content):
        raise damage.refusal(session, checkpoint, f"{path} {fault}")
    digest = {"Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(content.sha256)).decode()}:"}
    if (url := blobs.download_url(_key(checkpoint, path))) is not None:
        return RedirectResponse(url, 307, headers=digest | {"Cache-Control": "no-store"})
    body = verified_chunks(blobs, _key(checkpoint, path), content)
    headers = _attachment(path.rpartition("/")[2]) | {"Content-Length": str(file["bytes"])} | digest
    return StreamingResponse(body, media_type="application/octet-stream", headers=headers)


def _as_listed(row: models.Checkpoint) -> Checkpoint:
    columns = {name: getattr(row, name) for name in Checkpoint.model_fields if hasattr(row, name)}
    return Checkpoint.model_validate(columns | {"can_branch": can_branch(row) and row.damage is None})


def _folder_name(checkpoint: models.Checkpoint) -> str:
    seed = "" if checkpoint.seed is None else f"-seed-{checkpoint.seed}"
    step = "" if checkpoint.final else f"-{checkpoint.step:06d}"
    return f"{checkpoint.job_id}{seed}-{checkpoint.stage}{step}"


def _key(checkpoint: models.Checkpoint, path: str) -> str:
    return f"{checkpoint.blob_prefix}/{path}"


def _refuse_damaged(session: Session, blobs: BlobStore, checkpoint: models.Checkpoint) -> None:
    """Raise CheckpointDamaged before the response begins."""
    damage.refuse_marked(checkpoint)
    if fault := damage.fault_of_checkpoint(blobs, checkpoint):
        raise damage.refusal(session, checkpoint, fault)


def _attachment(name: str) -> dict[str, str]:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}
