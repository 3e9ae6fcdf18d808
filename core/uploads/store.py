"""Rows of uploads: create, find, take for a dataset, delete, and sweep."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import InstrumentedAttribute, Session

from core import quotas, tasks
from core.access.users import acting_user
from core.blobs import BlobStore, discard
from core.db import after_commit, storable_message
from core.errors import (
    DiskFull,
    FetchFailed,
    NotFound,
    PlatformError,
    TooLarge,
    UploadInUse,
    UploadNotComplete,
)
from core.models import DatasetVersion, DataTask, Upload, UploadPart
from core.models.base import new_id
from core.models.datasets import VersionStatus
from core.models.uploads import UploadStatus
from core.settings import Settings, get_settings
from core.uploads.parts import checked_filename, part_bytes_for, upload_prefix

_MOST_PER_SWEEP = 100
FETCH = "fetch"
"""The kind of the data task that downloads the file of an upload."""


def create(
    session: Session, blobs: BlobStore, settings: Settings, owner_id: str, filename: str, size: int, sha256: str | None
) -> Upload:
    """Create an upload of `size` bytes that waits for its parts. Raises TooLarge, QuotaExceeded, InvalidRequest and DiskFull."""
    if size > settings.max_upload_bytes:
        raise TooLarge(f"An upload may have at most {settings.max_upload_bytes} bytes.")
    free = blobs.free_bytes()
    if free is not None and size > free:
        raise DiskFull(f"The file has {size} bytes. The platform's disk has room for {free}.")
    quotas.check_storage(session, owner_id, settings, size)
    upload = Upload(id=new_id("up"), owner_id=owner_id, filename=checked_filename(filename), bytes=size, sha256=sha256)
    upload.created_by = acting_user(session)
    upload.part_bytes = part_bytes_for(size, settings.upload_part_bytes)
    upload.status = UploadStatus.OPEN.value
    postpone_expiry(upload)
    session.add(upload)
    session.flush()
    return upload


def postpone_expiry(upload: Upload) -> None:
    """Keep the upload for `upload_hours` from now."""
    upload.expires_at = func.now() + timedelta(hours=get_settings().upload_hours)


def get(session: Session, owner_id: str, upload_id: str, *, lock: bool = False) -> Upload:
    """The owner's upload. Raises NotFound, for the upload of another owner as well."""
    query = select(Upload).filter_by(id=upload_id, owner_id=owner_id)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    upload = session.scalars(query).one_or_none()
    if upload is None:
        raise NotFound(f"There is no upload {upload_id!r}.")
    return upload


def take(session: Session, owner_id: str, upload_id: str) -> Upload:
    """Lock a complete upload for a dataset that is made of it, and postpone its expiry.

    Raises NotFound and UploadNotComplete.
    """
    upload = get(session, owner_id, upload_id, lock=True)
    if upload.status != UploadStatus.COMPLETE:
        raise UploadNotComplete(f"{upload_id} is {upload.status}. A dataset can be made of it once it is complete.")
    postpone_expiry(upload)
    return upload


def delete(session: Session, blobs: BlobStore, owner_id: str, upload_id: str) -> None:
    """Delete the upload with its parts, and cancel its download. Raises UploadInUse while a dataset is made of it."""
    upload = get(session, owner_id, upload_id, lock=True)
    for task in session.scalars(select(DataTask).where(unfinished(upload_id))).all():
        if task.kind != FETCH:
            raise UploadInUse(f"{upload_id} is being read: {task.kind} {task.id}.", task=task.id)
        tasks.cancel(session, task)
    remove(session, blobs, upload)


def remove(session: Session, blobs: BlobStore, upload: Upload) -> None:
    """Delete the row with its parts, and their blobs after the commit."""
    prefix = upload_prefix(upload.id)
    session.delete(upload)
    session.flush()
    after_commit(session, lambda: discard(blobs, [prefix]))


def datasets_of(session: Session, upload_ids: Sequence[str]) -> dict[str, str]:
    """For each upload, the id of the newest dataset that was made of it or is being made."""
    origin = func.jsonb_extract_path_text(DatasetVersion.origin, "upload")
    query = select(origin, DatasetVersion.dataset_id).where(origin.in_(upload_ids))
    made = query.where(DatasetVersion.status != VersionStatus.FAILED).order_by(DatasetVersion.created_at)
    return {row[0]: row[1] for row in session.execute(made)}


def unfinished(upload_id: str | InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """SQL of a condition for unfinished tasks of this upload."""
    return DataTask.status.in_(tasks.UNFINISHED) & (tasks.argument("upload") == upload_id)


def fail(session: Session, blobs: BlobStore, upload: Upload, error: PlatformError) -> None:
    """Store the error of a failed download and delete its parts; the caller has locked `upload`."""
    upload.status = UploadStatus.FAILED.value
    upload.error = {"code": error.code, "message": storable_message(error.detail)}
    session.execute(delete_rows(UploadPart).filter_by(upload_id=upload.id))
    prefix = upload_prefix(upload.id)
    after_commit(session, lambda: discard(blobs, [prefix]))


def sweep_uploads(session: Session, blobs: BlobStore) -> list[str]:
    """Delete expired uploads without an unfinished task, and their blobs after the commit. Returns their ids."""
    _end_lost_fetches(session, blobs)
    busy = exists(select(DataTask.id).where(unfinished(Upload.id)))
    query = select(Upload).where(Upload.expires_at < func.clock_timestamp(), ~busy).limit(_MOST_PER_SWEEP)
    expired = session.scalars(query.with_for_update(skip_locked=True)).all()
    for upload in expired:
        remove(session, blobs, upload)
    return [upload.id for upload in expired]


def _end_lost_fetches(session: Session, blobs: BlobStore) -> None:
    """Fail the uploads whose download has ended without a result."""
    busy = exists(select(DataTask.id).where(unfinished(Upload.id)))
    query = select(Upload).where(Upload.status == UploadStatus.FETCHING, ~busy).limit(_MOST_PER_SWEEP)
    for upload in session.scalars(query.with_for_update(skip_locked=True)):
        fail(session, blobs, upload, FetchFailed("The download ended early: its worker was lost, or it was cancelled."))
