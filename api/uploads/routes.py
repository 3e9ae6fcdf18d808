"""Uploads: files that are sent in parts or downloaded by the platform, and then become datasets."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.deps import After, BlobsDep, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep, refresh
from api.idempotency import IDEMPOTENT
from api.problems import BadRequest, documented
from api.uploads.parts import PART_BODY, PartDraft, PartNumber
from api.uploads.schemas import (
    CompleteUpload,
    CreateUpload,
    CreateUploadFrom,
    PreviewRequest,
    Upload,
    UploadLimits,
    UploadList,
    UploadPart,
    UploadPartSum,
    UploadPreview,
)
from api.validation import StrictRoute
from core import models
from core.access.import_urls import allowed_prefixes
from core.datasets.importing import limits_of
from core.db import after_commit, request_scope
from core.errors import (
    ChecksumMismatch,
    CrossOrigin,
    DiskFull,
    ImportRefused,
    InvalidDataset,
    InvalidMapping,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    PartDiffers,
    PartsMissing,
    QuotaExceeded,
    TooLarge,
    UploadInUse,
    UploadNotComplete,
    UploadNotOpen,
    WrongMediaType,
)
from core.models.uploads import UploadStatus
from core.paging import page
from core.uploads import receiving, store
from core.uploads.checksums import RunningDigests, part_sum
from core.uploads.fetching import create_fetched
from core.uploads.parts import part_count, received_bytes
from core.uploads.reading import opener
from core.uploads.receiving import keep_part, received_parts, refuse_missing
from core.uploads.store import datasets_of
from data.preview import preview_file

router = APIRouter(tags=["Uploads"], route_class=StrictRoute)
NO_CHECKSUM = CompleteUpload()
DETECT_ALL = PreviewRequest()


def _digests(request: Request) -> RunningDigests:
    digests: RunningDigests = request.app.state.digests
    return digests


DigestsDep = Annotated[RunningDigests, Depends(_digests)]


@router.post(
    "/uploads",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest, QuotaExceeded, DiskFull),
)
def create_upload(
    principal: PrincipalDep, body: CreateUpload, session: SessionDep, blobs: BlobsDep, settings: SettingsDep
) -> Upload:
    """Start an upload. Then PUT each of its `parts`, in any order and several at a time, and complete it."""
    row = store.create(session, blobs, settings, principal.owner_id, body.filename, body.bytes, body.sha256)
    return _upload(session, row)


@router.post(
    "/uploads/from",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=documented(NotSignedIn, CrossOrigin, WrongMediaType, InvalidRequest, ImportRefused, QuotaExceeded),
)
def create_upload_from(
    principal: PrincipalDep, body: CreateUploadFrom, session: SessionDep, settings: SettingsDep
) -> Upload:
    """Have the platform download a file. `GET /v1/reference/uploads` lists the addresses that its operator allows."""
    return _upload(session, create_fetched(session, settings, principal.owner_id, body.url, body.filename))


@router.get("/uploads", responses=documented(NotSignedIn, InvalidRequest))
def list_uploads(
    principal: PrincipalDep,
    session: SessionDep,
    status: Annotated[UploadStatus | None, Query(description="Only uploads in this state.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> UploadList:
    """List your uploads that have not expired."""
    query = select(models.Upload).filter_by(owner_id=principal.owner_id)
    if status is not None:
        query = query.filter_by(status=status.value)
    found = page(session, query, models.Upload, after, limit, order)
    return UploadList.from_items(_described(session, found.items), found.has_more)


@router.get("/reference/uploads", responses=documented(NotSignedIn))
def get_upload_limits(_: PrincipalDep, settings: SettingsDep) -> UploadLimits:
    """Return the largest sizes of files and the allowed sources of downloads."""
    allowed = settings.import_urls
    return UploadLimits(
        max_upload_bytes=settings.max_upload_bytes,
        max_request_upload_bytes=settings.max_request_upload_bytes,
        part_bytes=settings.upload_part_bytes,
        import_urls=allowed if isinstance(allowed, str) else "some",
        import_prefixes=list(allowed_prefixes(allowed)),
    )


@router.get("/uploads/{upload_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_upload(upload_id: str, principal: PrincipalDep, session: SessionDep) -> Upload:
    """Return an upload with its received parts."""
    return _upload(session, store.get(session, principal.owner_id, upload_id))


@router.put(
    "/uploads/{upload_id}/parts/{number}",
    openapi_extra=PART_BODY,
    responses=documented(
        BadRequest,
        NotSignedIn,
        CrossOrigin,
        NotFound,
        PartDiffers,
        UploadNotOpen,
        TooLarge,
        InvalidRequest,
        ChecksumMismatch,
        DiskFull,
    ),
)
def put_upload_part(
    upload_id: str,
    number: PartNumber,
    principal: PrincipalDep,
    draft: PartDraft,
    session: SessionDep,
    blobs: BlobsDep,
    digests: DigestsDep,
) -> UploadPart:
    """Send one part as the body. An interrupted part is discarded. The same part again changes nothing."""
    upload = store.get(session, principal.owner_id, upload_id, lock=True)
    part = keep_part(session, blobs, upload, number, draft)
    after_commit(session, lambda: digests.arrived(blobs, upload_id, number))
    return UploadPart(number=number, bytes=part.bytes)


@router.get("/uploads/{upload_id}/parts/{number}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_upload_part(
    upload_id: str, number: PartNumber, principal: PrincipalDep, session: SessionDep, blobs: BlobsDep
) -> UploadPartSum:
    """Return a received part with its SHA-256."""
    upload = store.get(session, principal.owner_id, upload_id)
    part = session.get(models.UploadPart, (upload.id, number))
    if part is None:
        raise NotFound(f"Part {number} of {upload_id} has not been received.")
    return UploadPartSum(number=number, bytes=part.bytes, sha256=part_sum(blobs, upload_id, number))


def _arrived_sum(
    upload_id: str, principal: PrincipalDep, settings: SettingsDep, blobs: BlobsDep, digests: DigestsDep
) -> str:
    """The SHA-256 of the file. It is computed outside the request's transaction, because it may take long."""
    with request_scope(settings) as session:
        upload = store.get(session, principal.owner_id, upload_id)
        if upload.status == UploadStatus.COMPLETE and upload.sha256:
            return upload.sha256
        count = refuse_missing(session, upload)
    return digests.finish(blobs, upload_id, count)


@router.post(
    "/uploads/{upload_id}/complete",
    responses=documented(
        NotSignedIn,
        CrossOrigin,
        NotFound,
        PartsMissing,
        UploadNotOpen,
        WrongMediaType,
        InvalidRequest,
        ChecksumMismatch,
    ),
)
def complete_upload(
    upload_id: str,
    principal: PrincipalDep,
    arrived: Annotated[str, Depends(_arrived_sum)],
    session: SessionDep,
    digests: DigestsDep,
    body: CompleteUpload = NO_CHECKSUM,
) -> Upload:
    """Complete an upload: check that all parts are received, and the checksum of the file. May be repeated."""
    upload = store.get(session, principal.owner_id, upload_id, lock=True)
    receiving.complete(session, upload, arrived, body.sha256)
    after_commit(session, lambda: digests.forget(upload_id))
    return _upload(session, upload)


@router.delete(
    "/uploads/{upload_id}",
    status_code=204,
    responses=documented(NotSignedIn, CrossOrigin, NotFound, UploadInUse, InvalidRequest),
)
def delete_upload(
    upload_id: str, principal: PrincipalDep, session: SessionDep, blobs: BlobsDep, digests: DigestsDep
) -> None:
    """Delete an upload and its parts, and stop its download. Datasets made from it stay."""
    store.delete(session, blobs, principal.owner_id, upload_id)
    after_commit(session, lambda: digests.forget(upload_id))


@router.post(
    "/uploads/{upload_id}/preview",
    responses=documented(
        NotSignedIn,
        CrossOrigin,
        NotFound,
        UploadNotComplete,
        WrongMediaType,
        InvalidRequest,
        InvalidMapping,
        InvalidDataset,
    ),
)
def preview_upload(
    upload_id: str,
    principal: PrincipalDep,
    settings: SettingsDep,
    blobs: BlobsDep,
    body: PreviewRequest = DETECT_ALL,
) -> UploadPreview:
    """Preview an upload: its container, the formats that fit, its columns, and its first records with their rows.

    Nothing is stored. With `format`, `kind`, `mapping` or `ignore`, the preview reads the records accordingly. `questions` lists
    columns that look meaningful and are not used. An import stops with `format_unclear` until they are answered.
    """
    with request_scope(settings) as session:  # no connection is held while the file is read
        upload = store.get(session, principal.owner_id, upload_id)
        open_ = opener(blobs, upload)
    scratch = settings.data_dir / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    limits = limits_of(settings)
    seen = preview_file(
        open_,
        upload.filename,
        limits,
        format=body.format,
        kind=body.kind,
        mapping=body.mapping,
        encoding=body.encoding,
        ignore=body.ignore,
        scratch=scratch,
    )
    return UploadPreview.from_preview(seen)


def _upload(session: Session, row: models.Upload) -> Upload:
    refresh(session, row)
    return _described(session, [row])[0]


def _described(session: Session, rows: Sequence[models.Upload]) -> list[Upload]:
    """The responses, with the fields that depend on the parts."""
    ids = [row.id for row in rows]
    received, datasets = received_parts(session, ids), datasets_of(session, ids)
    return [_with_parts(row, received.get(row.id, []), datasets.get(row.id)) for row in rows]


def _with_parts(row: models.Upload, received: list[int], dataset: str | None) -> Upload:
    count = None if row.bytes is None else part_count(row.bytes, row.part_bytes)
    arrived = received_bytes(received, row.bytes, row.part_bytes)
    derived = {"parts": count, "received": received, "bytes_received": arrived, "dataset": dataset}
    columns = {column.key: getattr(row, column.key) for column in models.Upload.__table__.columns}
    return Upload.model_validate(columns | derived)
