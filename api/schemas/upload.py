from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from api.schemas.base import ListOf, Schema, Timestamp
from core.access.import_urls import LONGEST_URL
from core.models.uploads import UploadStatus

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]


class CreateUpload(Schema):
    """A file that is to come."""

    model_config = ConfigDict(extra="forbid")

    filename: str
    """Its name; of a path, the last part is kept."""
    bytes: Annotated[int, Field(ge=1)]
    """Its size."""
    sha256: Sha256 | None = None
    """Of the whole file, in hexadecimal, where it is known by now."""


class CreateUploadFrom(Schema):
    """A file that the platform is to fetch."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)]
    """An https address, `s3://bucket/key`, `hf://datasets/owner/name[@revision]/file`, a hub dataset's id (of one file), or `file:///…` on the server: what the operator allows."""
    filename: str | None = None
    """Its name here. Left out: the one that it has there."""


class CompleteUpload(Schema):
    """What its sender knows of it."""

    model_config = ConfigDict(extra="forbid")

    sha256: Sha256 | None = None
    """Of the whole file, in hexadecimal."""


class UploadError(Schema):
    """Why a file could not be fetched."""

    code: str
    """For programs."""
    message: str
    """For people."""


class Upload(Schema):
    """A file that arrives in parts, or that the platform fetches."""

    object: Literal["upload"] = "upload"
    """Always `upload`."""
    id: str
    """Begins with `up_`."""
    filename: str
    """For people, and for telling formats apart."""
    bytes: int | None
    """Size of the whole file; null while it is fetched from somewhere that does not say."""
    bytes_received: int
    """How much of it is here."""
    part_bytes: int
    """Size of each part but the last, which has the rest."""
    parts: int | None
    """How many parts the file has; null while its size is not known."""
    received: list[int]
    """The numbers, from 1, of the parts that are here."""
    sha256: str | None
    """Of the whole file: as promised until it is complete, then as it arrived."""
    url: str | None
    """Where it is fetched from; null for one that is sent."""
    status: UploadStatus
    """`open`: takes parts; `fetching`; `complete`: can be made a dataset; `failed`: could not be fetched."""
    error: UploadError | None
    """Why it failed."""
    dataset: str | None
    """The newest dataset that was made of it."""
    created_at: Timestamp
    """When it was begun."""
    expires_at: Timestamp
    """When it is removed, unless something happens to it before."""
    completed_at: Timestamp | None
    """When all of it was here."""


class UploadList(ListOf[Upload]):
    """Uploads."""


class UploadPart(Schema):
    """A part that has arrived."""

    object: Literal["upload.part"] = "upload.part"
    """Always `upload.part`."""
    number: int
    """Which one, from 1."""
    bytes: int
    """Its size."""


class UploadPartSum(UploadPart):
    """A part that has arrived, with its sum: who goes on with an upload can tell whether it is of the same file."""

    sha256: str
    """Of the part."""


class UploadLimits(Schema):
    """How files come in here."""

    object: Literal["upload.limits"] = "upload.limits"
    """Always `upload.limits`."""
    max_upload_bytes: int
    """Largest file, sent in parts or fetched."""
    max_request_upload_bytes: int
    """Largest file that `POST /v1/datasets` takes in one request."""
    part_bytes: int
    """Size of a part; larger for a file that would have too many of them."""
    import_urls: Literal["none", "any", "some"]
    """Whether files may be fetched from elsewhere: nowhere, any public place, or below the prefixes."""
    import_prefixes: list[str]
    """What an address must begin with."""
