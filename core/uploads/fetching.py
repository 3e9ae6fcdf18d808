"""Uploads whose file a data worker downloads from an address."""

from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session

from core import quotas, tasks
from core.access.import_urls import BucketFile, ImportSource, import_refusal, parse_import_url
from core.access.users import acting_user
from core.blobs import BlobStore
from core.errors import ImportRefused, InvalidRequest
from core.models import Upload, UploadPart
from core.models.base import new_id
from core.models.uploads import UploadStatus
from core.settings import Settings, get_settings
from core.uploads.parts import checked_filename, part_bytes_for, upload_prefix
from core.uploads.receiving import mark_complete
from core.uploads.store import FETCH, get, postpone_expiry

_UNNAMED = "import"


def create_fetched(session: Session, settings: Settings, owner_id: str, url: str, filename: str | None) -> Upload:
    """Create an upload and the task that downloads its file. Raises ImportRefused, InvalidRequest and QuotaExceeded."""
    wanted = checked_import_url(url, settings)
    quotas.check_open_imports(session, owner_id, settings)
    quotas.check_storage(session, owner_id, settings, more=1)
    upload = Upload(id=new_id("up"), owner_id=owner_id, url=url, status=UploadStatus.FETCHING.value)
    upload.created_by = acting_user(session)
    upload.filename = checked_filename(filename) if filename else default_filename(wanted)
    upload.part_bytes = part_bytes_for(settings.max_upload_bytes, settings.upload_part_bytes)
    postpone_expiry(upload)
    session.add(upload)
    session.flush()
    tasks.enqueue(session, owner_id, FETCH, {"upload": upload.id})
    return upload


def checked_import_url(url: str, settings: Settings) -> ImportSource:
    """The file that an address names. Raises ImportRefused if it is not valid or not allowed."""
    try:
        wanted = parse_import_url(url, settings.hub_url)
        reason = import_refusal(wanted, settings.import_urls) or _own_bucket(wanted, settings)
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        detail = f"{reason[0].upper()}{reason[1:]}."
        raise ImportRefused(detail, param="url", errors=[{"pointer": "#/url", "detail": reason}])
    return wanted


def _own_bucket(wanted: ImportSource, settings: Settings) -> str | None:
    """The reason not to import from the platform's own bucket, which has the files of all owners."""
    own = settings.blob_bucket
    if own is not None and isinstance(wanted, BucketFile) and wanted.bucket == own[0]:
        return "the platform stores its own files in this bucket, and imports none of them"
    return None


def begin(session: Session, blobs: BlobStore, owner_id: str, upload_id: str) -> Upload | None:
    """Delete the parts of an earlier attempt. None if there is nothing to fetch any more. Raises NotFound."""
    upload = get(session, owner_id, upload_id, lock=True)
    if upload.status != UploadStatus.FETCHING:
        return None
    session.execute(delete_rows(UploadPart).filter_by(upload_id=upload_id))
    blobs.delete_prefix(upload_prefix(upload_id))
    return upload


def describe(session: Session, owner_id: str, upload_id: str, size: int | None, filename: str | None) -> None:
    """Store the size that the source reports, and the file name if it differs from the one stored. Raises QuotaExceeded."""
    upload = get(session, owner_id, upload_id, lock=True)
    upload.bytes = size
    session.flush()
    quotas.check_storage(session, owner_id, get_settings())
    if filename is not None:
        upload.filename = _filename_or_default(filename)


def add_part(session: Session, upload: Upload, number: int, size: int) -> None:
    """Store the row of a part whose blob is stored; the caller has locked `upload`. Raises QuotaExceeded."""
    session.add(UploadPart(upload_id=upload.id, number=number, bytes=size))
    session.flush()
    if upload.bytes is None:
        quotas.check_storage(session, upload.owner_id, get_settings())
    postpone_expiry(upload)


def finish(session: Session, owner_id: str, upload_id: str, size: int, sha256: str) -> None:
    """Complete the upload."""
    upload = get(session, owner_id, upload_id, lock=True)
    upload.bytes = size
    mark_complete(upload, sha256)


def default_filename(wanted: ImportSource) -> str:
    """The file name in an address, or `import` if it has none."""
    return _filename_or_default(wanted.name)


def _filename_or_default(name: str) -> str:
    try:
        return checked_filename(name)
    except InvalidRequest:
        return _UNNAMED
