"""Uploads whose bytes a worker brings from elsewhere."""

from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session

from core import tasks
from core.access import import_urls
from core.blobs import BlobStore, discard
from core.db import after_commit
from core.errors import ImportRefused, InvalidRequest, PlatformError
from core.models import Upload, UploadPart
from core.models.base import new_id
from core.models.uploads import UploadStatus
from core.settings import Settings
from core.storable import message
from core.uploads import naming, parts
from core.uploads.arriving import finish
from core.uploads.store import FETCH, get, stay

_UNNAMED = "import"


def create_from(session: Session, settings: Settings, owner_id: str, url: str, filename: str | None) -> Upload:
    """An upload that a worker will fetch. ImportRefused where the operator does not allow the address."""
    wanted = allowed_place(url, settings)
    upload = Upload(id=new_id("up"), owner_id=owner_id, url=url, status=UploadStatus.FETCHING.value)
    upload.filename = naming.fit(filename) if filename else name_of(wanted)
    upload.part_bytes = parts.part_bytes_for(settings.max_upload_bytes, settings.upload_part_bytes)
    stay(upload)
    session.add(upload)
    session.flush()
    tasks.enqueue(session, owner_id, FETCH, {"upload": upload.id})
    return upload


def allowed_place(url: str, settings: Settings) -> import_urls.Place:
    """What the address names. ImportRefused."""
    try:
        wanted = import_urls.place(url, settings.hub_url)
        reason = import_urls.why_not(wanted, settings.import_urls)
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        detail = f"{reason[0].upper()}{reason[1:]}."
        raise ImportRefused(detail, param="url", errors=[{"pointer": "#/url", "detail": reason}])
    return wanted


def begin(session: Session, blobs: BlobStore, owner_id: str, upload_id: str) -> Upload | None:
    """From the start, whatever an earlier try has left. None if there is nothing to fetch any more. NotFound."""
    upload = get(session, owner_id, upload_id, lock=True)
    if upload.status != UploadStatus.FETCHING:
        return None
    session.execute(delete_rows(UploadPart).filter_by(upload_id=upload_id))
    blobs.delete_prefix(parts.prefix(upload_id))
    return upload


def describe(session: Session, owner_id: str, upload_id: str, size: int | None, filename: str | None) -> None:
    """What its source says of it; `filename` only where it turned out to be another."""
    upload = get(session, owner_id, upload_id, lock=True)
    upload.bytes = size
    if filename is not None:
        upload.filename = _fit_or_unnamed(filename)


def add_part(session: Session, upload: Upload, number: int, size: int) -> None:
    """The next part lies in its blob; `upload` is locked."""
    session.add(UploadPart(upload_id=upload.id, number=number, bytes=size))
    stay(upload)


def end(session: Session, owner_id: str, upload_id: str, size: int, sha256: str) -> None:
    """All of it is there."""
    upload = get(session, owner_id, upload_id, lock=True)
    upload.bytes = size
    finish(upload, sha256)


def fail(session: Session, blobs: BlobStore, upload: Upload, error: PlatformError) -> None:
    """It could not be fetched, and nothing of it stays but the reason; `upload` is locked."""
    upload.status = UploadStatus.FAILED.value
    upload.error = {"code": error.code, "message": message(error.detail)}
    session.execute(delete_rows(UploadPart).filter_by(upload_id=upload.id))
    above = parts.prefix(upload.id)
    after_commit(session, lambda: discard(blobs, [above]))


def name_of(wanted: import_urls.Place) -> str:
    """What the file is called, as long as nothing else is known of it."""
    return _fit_or_unnamed(wanted.name)


def _fit_or_unnamed(name: str) -> str:
    try:
        return naming.fit(name)
    except InvalidRequest:
        return _UNNAMED
