"""What nobody came back for."""

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.errors import FetchFailed
from core.models import DataTask, Upload
from core.models.uploads import UploadStatus
from core.uploads.fetching import fail
from core.uploads.store import remove, unfinished

_AT_ONCE = 100


def sweep(session: Session, blobs: BlobStore) -> list[str]:
    """Remove the uploads whose time is over and that nobody reads; their blobs go behind the commit. Their ids."""
    _end_lost_fetches(session, blobs)
    busy = exists(select(DataTask.id).where(unfinished(Upload.id)))
    query = select(Upload).where(Upload.expires_at < func.clock_timestamp(), ~busy).limit(_AT_ONCE)
    gone = session.scalars(query.with_for_update(skip_locked=True)).all()
    for upload in gone:
        remove(session, blobs, upload)
    return [upload.id for upload in gone]


def _end_lost_fetches(session: Session, blobs: BlobStore) -> None:
    """Uploads that wait for a task which is over: its worker was lost too often, or it was cancelled."""
    busy = exists(select(DataTask.id).where(unfinished(Upload.id)))
    query = select(Upload).where(Upload.status == UploadStatus.FETCHING, ~busy).limit(_AT_ONCE)
    for upload in session.scalars(query.with_for_update(skip_locked=True)):
        fail(session, blobs, upload, FetchFailed("Fetching it was given up: its worker was lost, or it was cancelled."))
