"""A job's checkpoints, and their files."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from api.archive import Entry, stored_zip
from api.deps import After, BlobsDep, CheckpointDep, JobDep, Limit, OrderBy, SessionDep
from api.problems import documented
from api.schemas.run import Checkpoint, CheckpointList
from core import models
from core.blobs import BlobStore
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.pages import page

router = APIRouter(tags=["Checkpoints"])
CHUNK = 256 * 1024


@router.get("/jobs/{job_id}/checkpoints", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_checkpoints(
    job: JobDep,
    session: SessionDep,
    final: Annotated[bool | None, Query(description="Only the stages' results, or only those in between.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "asc",
) -> CheckpointList:
    """What the job has saved."""
    query = select(models.Checkpoint).filter_by(job_id=job.id)
    if final is not None:
        query = query.filter_by(final=final)
    found = page(session, query, models.Checkpoint, after, limit, order)
    return CheckpointList.of([Checkpoint.model_validate(row) for row in found.items], found.has_more)


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
    """The whole folder as a .zip, made while it is sent."""
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
    """One file of it."""
    # Found in the list of files or not at all: what is asked for never becomes a path.
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
    """Before the first byte: afterwards nothing could be answered any more."""
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
