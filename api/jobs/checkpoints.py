"""A job's checkpoints, and their files."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from api.deps import After, BlobsDep, CheckpointDep, JobDep, Limit, OrderBy, SessionDep
from api.jobs.schemas import Checkpoint, CheckpointList
from api.problems import documented
from core import models
from core.blobs import BlobStore
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.paging import page

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Entry:
    """A file of the zip and the blob that holds it."""

    name: str
    blob_key: str


def stored_zip(blobs: BlobStore, entries: Sequence[Entry], date: datetime) -> Iterator[bytes]:
    """Pieces of a zip of the blobs, without compression, because weights do not compress."""
    outbox = _Outbox()
    with zipfile.ZipFile(outbox, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, date.timetuple()[:6])
            # The sizes follow each file, so the header must already allow more than 4 GiB.
            with blobs.open(entry.blob_key) as file, archive.open(info, "w", force_zip64=True) as target:
                while chunk := file.read(CHUNK):
                    target.write(chunk)
                    yield outbox.take()
        yield outbox.take()
    yield outbox.take()


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
    return CheckpointList.from_items([Checkpoint.model_validate(row) for row in found.items], found.has_more)


@router.get(
    "/checkpoints/{checkpoint_id}/download",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, InvalidRequest)
    | {
        200: {
            "description": "A zip of the folder.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def download_checkpoint(checkpoint: CheckpointDep, blobs: BlobsDep) -> StreamingResponse:
    """Download the folder of a checkpoint as a .zip."""
    folder = _folder_name(checkpoint)
    entries = [Entry(f"{folder}/{file['path']}", _key(checkpoint, file["path"])) for file in checkpoint.files]
    _refuse_incomplete(blobs, entries)
    body = stored_zip(blobs, entries, checkpoint.created_at)
    return StreamingResponse(body, media_type="application/zip", headers=_attachment(f"{folder}.zip"))


@router.get(
    "/checkpoints/{checkpoint_id}/files/{path:path}",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, InvalidRequest)
    | {
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def download_checkpoint_file(checkpoint: CheckpointDep, path: str, blobs: BlobsDep) -> StreamingResponse:
    """Download one file of a checkpoint."""
    # The name is only compared with the stored list of files, and is never used as a path.
    file = next((file for file in checkpoint.files if file["path"] == path), None)
    if file is None:
        raise NotFound(f"The checkpoint has no file {path!r}.", param="path")
    body = _chunks(blobs, _key(checkpoint, file["path"]))
    headers = _attachment(path.rpartition("/")[2]) | {"Content-Length": str(file["bytes"])}
    return StreamingResponse(body, media_type="application/octet-stream", headers=headers)


def _folder_name(checkpoint: models.Checkpoint) -> str:
    seed = "" if checkpoint.seed is None else f"-seed-{checkpoint.seed}"
    step = "" if checkpoint.final else f"-{checkpoint.step:06d}"
    return f"{checkpoint.job_id}{seed}-{checkpoint.stage}{step}"


def _key(checkpoint: models.Checkpoint, path: str) -> str:
    return f"{checkpoint.blob_prefix}/{path}"


def _refuse_incomplete(blobs: BlobStore, entries: list[Entry]) -> None:
    """Raise NotFound for a missing blob before the response begins."""
    if missing := [entry.name for entry in entries if not blobs.exists(entry.blob_key)]:
        raise NotFound(f"{missing[0]} is no longer in the blob store.")


def _chunks(blobs: BlobStore, key: str) -> Iterator[bytes]:
    file = blobs.open(key)

    def read() -> Iterator[bytes]:
        with file:
            while chunk := file.read(CHUNK):
                yield chunk

    return read()


def _attachment(name: str) -> dict[str, str]:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}
