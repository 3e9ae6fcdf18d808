from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints

from api.schema import ListOf, Schema, Timestamp
from core.access.import_urls import LONGEST_URL
from core.models.uploads import UploadStatus
from data.kinds import DatasetKind
from data.preview import Preview

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


class PreviewRequest(Schema):
    """How to read an upload; what is left out is detected."""

    model_config = ConfigDict(extra="forbid")

    format: str | None = None
    """A format's id, see `GET /v1/reference/formats`."""
    kind: DatasetKind | None = None
    """What the rows are to be."""
    mapping: dict[str, Any] | None = None
    """Which column is which field, for the format `custom`: `{"fields": {…}, "labels": {…}}`."""
    encoding: str | None = None
    """Of the file's text, by a name such as `cp1252` or `shift_jis`."""


class PreviewColumn(Schema):
    """A field of the records."""

    name: str
    """With dots between the names of nested ones."""
    type: str
    """In words: `text`, `number or null`, `messages`, …"""
    examples: list[str]
    """Different values, shortened."""
    share: float
    """Of the records, those that have it."""


class PreviewCandidate(Schema):
    """What the records could be."""

    format: str
    """A format's id."""
    title: str
    """Its name for people."""
    kind: DatasetKind
    """What the rows would be."""
    score: float
    """Share of the records that look like it."""
    why: str
    """In a sentence."""


class PreviewPlan(Schema):
    """What the rows of a preview were read with."""

    format: str
    """A format's id."""
    kind: DatasetKind
    """What the rows are."""
    mapping: dict[str, Any] | None
    """Which column is which field, of `custom`."""


class PreviewRow(Schema):
    """A record, and a row that it becomes, or why it becomes none. Some records give several rows."""

    line: int
    """Where it is in the file: line, or number of the record in JSON arrays and Parquet."""
    raw: str
    """How it begins there."""
    row: dict[str, Any] | None
    """The row as it would be stored."""
    problem: str | None
    """Why there is none."""


class PreviewProblem(Schema):
    """A record that cannot be read at all."""

    line: int
    """Where it is."""
    detail: str
    """What is wrong."""


class UploadPreview(Schema):
    """What an upload is, by its first records, and what they would become."""

    object: Literal["upload.preview"] = "upload.preview"
    """Always `upload.preview`."""
    container: Literal["jsonl", "json", "csv", "parquet"]
    """How the records lie in it, whatever it is called."""
    compression: Literal["none", "gzip", "zstd"]
    """How it is packed."""
    encoding: str
    """Of its text; empty for Parquet."""
    notes: list[str]
    """What is unusual about the file."""
    sure: bool
    """Whether one candidate stands out."""
    records: int
    """How many were looked at."""
    columns: list[PreviewColumn]
    """Their fields."""
    candidates: list[PreviewCandidate]
    """What they could be, the most likely first."""
    problems: list[PreviewProblem]
    """The first records that cannot be read."""
    suggested: dict[str, Any] | None
    """A mapping to begin with, where nothing stands out and the columns' names suggest one."""
    plan: PreviewPlan | None
    """What the rows were read with; null: it is not clear, and somebody has to say."""
    rows: list[PreviewRow]
    """The first rows."""

    @classmethod
    def of(cls, preview: Preview) -> Self:
        """As it is answered."""
        told = {name: getattr(preview.detection, name) for name in cls.model_fields if hasattr(preview.detection, name)}
        return cls.model_validate({**told, "plan": preview.plan, "rows": preview.rows})
