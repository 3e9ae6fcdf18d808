from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints

from api.schema import IgnoredColumns, ListOf, Schema, Timestamp
from core.access.import_urls import LONGEST_URL
from core.models.uploads import UploadStatus
from data.column_meaning import Meaning
from data.preview import Preview
from data.schema import DatasetKind

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]


class CreateUpload(Schema):
    """A file to send."""

    model_config = ConfigDict(extra="forbid")

    filename: str
    """Name of the file. Folders before it are dropped."""
    bytes: Annotated[int, Field(ge=1)]
    """Size of the file in bytes."""
    sha256: Sha256 | None = None
    """SHA-256 of the whole file in hexadecimal, if known."""


class CreateUploadFrom(Schema):
    """A file for the platform to download."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_URL)]
    """An https address, `s3://bucket/key`, `hf://datasets/owner/name[@revision]/file`, the id of a hub dataset with one file, or `file:///…` on the server. The operator decides which are allowed."""
    filename: str | None = None
    """Name of the file. Left out: the last part of the address."""


class CompleteUpload(Schema):
    """Checksum to verify."""

    model_config = ConfigDict(extra="forbid")

    sha256: Sha256 | None = None
    """SHA-256 of the whole file in hexadecimal."""


class UploadError(Schema):
    """Why a download failed."""

    code: str
    """For programs."""
    message: str
    """For people."""


class Upload(Schema):
    """A file that is sent in parts, or that the platform downloads."""

    object: Literal["upload"] = "upload"
    """Always `upload`."""
    id: str
    """Begins with `up_`."""
    filename: str
    """Name for people. Its ending helps to detect the format."""
    bytes: int | None
    """Size of the whole file; null while it is unknown."""
    bytes_received: int
    """Bytes received so far."""
    part_bytes: int
    """Size of each part in bytes. The last part may be smaller."""
    parts: int | None
    """Number of parts; null while the size is unknown."""
    received: list[int]
    """Numbers, from 1, of the received parts."""
    sha256: str | None
    """SHA-256 of the whole file: announced by the client until the upload is complete, then computed."""
    url: str | None
    """Address of a download; null for a file that is sent."""
    status: UploadStatus
    """`open`: accepts parts. `fetching`: the platform downloads it. `complete`: can become a dataset. `failed`: the download failed."""
    error: UploadError | None
    """Why the download failed; else null."""
    dataset: str | None
    """The newest dataset made from it; null without one."""
    created_at: Timestamp
    """When it was created."""
    expires_at: Timestamp
    """When the platform deletes it, unless it is used before."""
    completed_at: Timestamp | None
    """When all bytes were received."""


class UploadList(ListOf[Upload]):
    """A page of uploads."""


class UploadPart(Schema):
    """A received part."""

    object: Literal["upload.part"] = "upload.part"
    """Always `upload.part`."""
    number: int
    """Number of the part, from 1."""
    bytes: int
    """Size in bytes."""


class UploadPartSum(UploadPart):
    """A received part with its checksum, to verify a resumed upload."""

    sha256: str
    """SHA-256 of the part."""


class UploadLimits(Schema):
    """Limits of uploads, and allowed sources of downloads."""

    object: Literal["upload.limits"] = "upload.limits"
    """Always `upload.limits`."""
    max_upload_bytes: int
    """Largest file that is sent in parts or downloaded, in bytes."""
    max_request_upload_bytes: int
    """Largest file of `POST /v1/datasets` in one request, in bytes."""
    part_bytes: int
    """Size of a part in bytes. Files with too many parts have larger ones."""
    import_urls: Literal["none", "any", "some"]
    """Allowed sources of downloads: none, any public address, or addresses that begin with one of the prefixes."""
    import_prefixes: list[str]
    """Prefixes of allowed addresses."""


class PreviewRequest(Schema):
    """How to read an upload. Fields that are left out are detected."""

    model_config = ConfigDict(extra="forbid")

    format: str | None = None
    """A format's id, see `GET /v1/reference/formats`."""
    kind: DatasetKind | None = None
    """Kind of the rows."""
    mapping: dict[str, Any] | None = None
    """Columns of the fields, for the format `custom`: `{"fields": {…}, "labels": {…}}`."""
    encoding: str | None = None
    """Encoding of the text, such as `cp1252` or `shift_jis`."""
    ignore: IgnoredColumns = Field(default_factory=list)
    """Columns that are not used and not asked about."""


class PreviewColumn(Schema):
    """A field of the records."""

    name: str
    """Name of the field. Dots separate the names of nested fields."""
    type: str
    """Type for people: `text`, `number or null`, `messages`, …"""
    examples: list[str]
    """Distinct values, shortened."""
    share: float
    """Share of the records that have it."""


class PreviewCandidate(Schema):
    """A format that fits the records."""

    format: str
    """A format's id."""
    title: str
    """Its name for people."""
    kind: DatasetKind
    """Kind of the rows."""
    score: float
    """Share of the records that fit."""
    why: str
    """The reason, for people."""


class PreviewPlan(Schema):
    """How the rows of a preview were read."""

    format: str
    """A format's id."""
    kind: DatasetKind
    """Kind of the rows."""
    mapping: dict[str, Any] | None
    """Columns of the fields, for the format `custom`."""


class PreviewRow(Schema):
    """A record with a row made from it, or the reason why there is none. Some records give several rows."""

    line: int
    """Position in the file: the line, or the number of the record in JSON arrays and Parquet."""
    raw: str
    """Beginning of the record."""
    row: dict[str, Any] | None
    """The row as it would be stored."""
    problem: str | None
    """Why there is no row; null if there is one."""


class PreviewProblem(Schema):
    """A record that cannot be read."""

    line: int
    """Its line."""
    detail: str
    """Description of the error."""


class PreviewChoice(Schema):
    """An answer to a question, as options of the import. Options that are null stay as they are."""

    label: str
    """The answer, for people."""
    format: str | None
    """A format's id."""
    kind: DatasetKind | None
    """Kind of the rows."""
    mapping: dict[str, Any] | None
    """Columns of the fields. A label whose meaning is null is to be chosen, or marks unusable records."""
    ignore: list[str]
    """Columns to ignore."""


class PreviewQuestion(Schema):
    """A column that looks meaningful and that no row would use. The file is not imported until the user decides."""

    column: str
    """Name of the column. Dots separate the names of nested fields."""
    meaning: Meaning
    """Its probable content."""
    detail: str
    """Description of what would be lost."""
    values: list[str]
    """Some of its values, shortened."""
    choices: list[PreviewChoice]
    """Possible answers. The last one ignores the column."""


class UploadPreview(Schema):
    """Contents of an upload, from its first records, and the rows that they would give."""

    object: Literal["upload.preview"] = "upload.preview"
    """Always `upload.preview`."""
    container: Literal["jsonl", "json", "csv", "parquet"]
    """File format, independent of the file's name."""
    compression: Literal["none", "gzip", "zstd"]
    """Compression of the file."""
    encoding: str
    """Encoding of the text; empty for Parquet."""
    notes: list[str]
    """Peculiarities of the file."""
    sure: bool
    """Whether one candidate stands out, and no question is open."""
    records: int
    """Number of records that were read."""
    columns: list[PreviewColumn]
    """Fields of the records."""
    candidates: list[PreviewCandidate]
    """Formats that fit, the best first."""
    problems: list[PreviewProblem]
    """The first records that cannot be read."""
    questions: list[PreviewQuestion]
    """Columns that no row would use although they look meaningful. They are to be answered with `kind`, `mapping` or `ignore`."""
    suggested: dict[str, Any] | None
    """A mapping made from the columns' names, if no candidate stands out."""
    plan: PreviewPlan | None
    """How the rows were read; null if the format is unclear."""
    rows: list[PreviewRow]
    """The first rows."""

    @classmethod
    def from_preview(cls, preview: Preview) -> Self:
        """The response for a preview."""
        found = preview.detection
        detected = {name: getattr(found, name) for name in cls.model_fields if hasattr(found, name)}
        asked = {"questions": preview.questions, "sure": found.sure and not preview.questions}
        return cls.model_validate({**detected, **asked, "plan": preview.plan, "rows": preview.rows})
