"""What an upload looks like, before it is made a dataset."""

from fastapi import APIRouter

from api.deps import BlobsDep, PrincipalDep, SettingsDep
from api.problems import documented
from api.strict_json import StrictRoute
from api.uploads.schemas import PreviewRequest, UploadPreview
from core import uploads
from core.datasets.importing import limits_of
from core.db import session_scope
from core.errors import (
    CrossOrigin,
    InvalidDataset,
    InvalidMapping,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    UploadNotComplete,
    WrongMediaType,
)
from data.preview import preview_file

router = APIRouter(tags=["Uploads"], route_class=StrictRoute)
NOTHING_SAID = PreviewRequest()


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
    body: PreviewRequest = NOTHING_SAID,
) -> UploadPreview:
    """Its container, the formats that it may have, its columns, and its first rows as they would be stored, or why not.

    Nothing is stored. Say `format`, `kind` or `mapping` to see what that would make of it.
    """
    with session_scope(settings.database_url) as session:  # no connection is held while the file is read
        upload = uploads.get(session, principal.key_id, upload_id)
        open_ = uploads.opener(blobs, upload)
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
        scratch=scratch,
    )
    return UploadPreview.of(seen)
