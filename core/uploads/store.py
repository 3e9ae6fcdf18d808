"""An upload's row: made, found, taken for a dataset, deleted."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core import tasks
from core.blobs import BlobStore, discard
from core.db import after_commit
from core.errors import DiskFull, NotFound, TooLarge, UploadInUse, UploadNotComplete
from core.models import DatasetVersion, DataTask, Upload
from core.models.base import new_id
from core.models.datasets import VersionStatus
from core.models.uploads import UploadStatus
from core.settings import Settings, get_settings
from core.uploads import naming, parts

FETCH = "fetch"
"""The kind of task that brings an upload's bytes from elsewhere."""


def create(
    session: Session, blobs: BlobStore, settings: Settings, owner_id: str, filename: str, size: int, sha256: str | None
) -> Upload:
    """An upload of `size` bytes that waits for its parts. TooLarge; DiskFull where there is no room for it even now."""
    if size > settings.max_upload_bytes:
        raise TooLarge(f"An upload may have at most {settings.max_upload_bytes} bytes.")
    free = blobs.free_bytes()
    if free is not None and size > free:
        raise DiskFull(f"The file has {size} bytes; the platform's disk has room for {free}.")
    upload = Upload(id=new_id("up"), owner_id=owner_id, filename=naming.fit(filename), bytes=size, sha256=sha256)
    upload.part_bytes = parts.part_bytes_for(size, settings.upload_part_bytes)
    upload.status = UploadStatus.OPEN.value
    stay(upload)
    session.add(upload)
    session.flush()
    return upload


def stay(upload: Upload) -> None:
    """Something has happened to it: it is kept for as long again."""
    upload.expires_at = func.now() + timedelta(hours=get_settings().upload_hours)


def get(session: Session, owner_id: str, upload_id: str, *, lock: bool = False) -> Upload:
    """The owner's upload. Another owner's is as absent as one that never was."""
    query = select(Upload).filter_by(id=upload_id, owner_id=owner_id)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    upload = session.scalars(query).one_or_none()
    if upload is None:
        raise NotFound(f"There is no upload {upload_id!r}.")
    return upload


def take(session: Session, owner_id: str, upload_id: str) -> Upload:
    """For a dataset that is to be made of it: complete, and kept for as long again. NotFound, UploadNotComplete."""
    upload = get(session, owner_id, upload_id, lock=True)
    if upload.status != UploadStatus.COMPLETE:
        raise UploadNotComplete(f"{upload_id} is {upload.status}; a dataset can be made of it once it is complete.")
    stay(upload)
    return upload


def delete(session: Session, blobs: BlobStore, owner_id: str, upload_id: str) -> None:
    """Forget it and what arrived of it; stop fetching it. UploadInUse while a dataset is being made of it."""
    upload = get(session, owner_id, upload_id, lock=True)
    for task in session.scalars(select(DataTask).where(unfinished(upload_id))).all():
        if task.kind != FETCH:
            raise UploadInUse(f"{upload_id} is being read: {task.kind} {task.id}.", task=task.id)
        tasks.cancel(session, task)
    remove(session, blobs, upload)


def remove(session: Session, blobs: BlobStore, upload: Upload) -> None:
    """The row with its parts, and their blobs behind the commit."""
    above = parts.prefix(upload.id)
    session.delete(upload)
    session.flush()
    after_commit(session, lambda: discard(blobs, [above]))


def datasets_of(session: Session, upload_ids: Sequence[str]) -> dict[str, str]:
    """The newest dataset that was made of each upload, or is being made of it."""
    origin = func.jsonb_extract_path_text(DatasetVersion.origin, "upload")
    query = select(origin, DatasetVersion.dataset_id).where(origin.in_(upload_ids))
    made = query.where(DatasetVersion.status != VersionStatus.FAILED).order_by(DatasetVersion.created_at)
    return {row[0]: row[1] for row in session.execute(made)}


def unfinished(upload_id: str | InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Of the tasks, those that concern this upload and are not over."""
    return DataTask.status.in_(tasks.AT_WORK) & (tasks.argument("upload") == upload_id)
