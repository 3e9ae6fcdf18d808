from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from api.schema import DataProgress, IgnoredColumns, ListOf, Schema, Timestamp
from core.datasets.importing import BadRows
from core.models.datasets import VersionStatus
from core.models.tasks import TaskStatus
from data.findings import Finding
from data.schema import DatasetKind


class ImportDataset(Schema):
    """An upload to import as a dataset. Fields that are left out are detected from the file."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    upload: str
    """The id of a complete upload, `up_…`."""
    name: str | None = None
    """Name of the dataset. Left out: the file's name."""
    kind: DatasetKind | None = None
    """Kind of the rows."""
    format: str | None = None
    """How to read a record: an `id` of `GET /v1/reference/formats`."""
    mapping: dict[str, Any] | None = None
    """For the format `custom`: `{"fields": {"prompt": "column or dotted.path", …}, "labels": {"model_a": "a", …}}`."""
    encoding: str | None = None
    """Encoding of the text, such as `cp1252` or `shift_jis`. Left out: UTF-8, or the encoding that a byte-order mark shows."""
    ignore: IgnoredColumns = Field(default_factory=list)
    """Columns that are not used and not asked about. Without it a column that looks like a verdict, an answer, a role or a system message stops the import if no row uses it."""
    bad_rows: BadRows = BadRows.REPORT
    """Handling of invalid records. `refuse` stores nothing. `leave_out` stores the valid rows. `report` stores them too, but the version is `blocked` until the user decides."""


class ChangeDataset(Schema):
    """The fields to change. Other fields keep their values."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)] | None = None
    """Name of the dataset."""
    expires_at: AwareDatetime | None = None
    """When the platform may delete the dataset, unless an unfinished job uses it then; null: never."""


class FindingCounts(Schema):
    """Numbers of findings, of the import and of the newest report."""

    blocking: int = 0
    """Findings that prevent jobs from using the version."""
    warning: int = 0
    """Findings that need attention."""


class DatasetError(Schema):
    """Why a version could not be made."""

    code: str
    """For programs."""
    message: str
    """For people."""
    errors: list[dict[str, Any]] | None = None
    """The first bad records: `line`, `detail`, and `column` or `pointer` where known."""


class Dataset(Schema):
    """A dataset: a name and its versions. Fields about rows describe the newest version."""

    object: Literal["dataset"] = "dataset"
    """Always `dataset`."""
    id: str
    """Begins with `ds_`. In a job it means the newest ready version; `ds_…@2` and `ds_…@sha256:…` mean that one."""
    name: str
    """For people."""
    external_id: str | None
    """The id that was given at its creation; null without one."""
    kind: DatasetKind
    """Kind of the rows."""
    status: VersionStatus
    """State of the newest version: `importing`, then `ready`, `blocked` (see its findings) or `failed` (see `error`)."""
    version: int
    """Number of the newest version."""
    rows: int | None
    """Number of rows; null until they are stored."""
    bytes: int | None
    """Size of the stored rows in bytes."""
    sha256: str | None
    """SHA-256 of the stored rows in canonical form. Equal rows have equal sums."""
    damage: str | None
    """How the stored rows differ from those that were imported; null for good ones. Importing the same file again stores
    them anew."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    findings: FindingCounts
    """Number of known problems."""
    progress: DataProgress | None
    """Progress of an import; else null."""
    error: DatasetError | None
    """Why the newest version failed, if it did."""
    origin: dict[str, Any]
    """Origin of the newest version: its `type` is `upload`, `fix` or `annotation`."""
    created_at: Timestamp
    """When the first version was created."""
    archived_at: Timestamp | None
    """When it was archived; null if it is not."""
    expires_at: Timestamp | None
    """When it may be deleted; null: never."""


class DatasetList(ListOf[Dataset]):
    """A page of the datasets of the caller."""


class DatasetVersion(Schema):
    """An immutable set of rows. Only an importing version changes."""

    object: Literal["dataset.version"] = "dataset.version"
    """Always `dataset.version`."""
    id: str
    """Begins with `dv_`."""
    dataset_id: str
    """The dataset."""
    number: int
    """1, 2, …"""
    parent: int | None
    """Number of the version that it was made from."""
    status: VersionStatus
    """`importing`, then `ready`, `blocked` or `failed`."""
    rows: int | None
    """Number of rows; null until they are stored."""
    bytes: int | None
    """Size of the stored rows in bytes."""
    sha256: str | None
    """SHA-256 of the stored rows. A job that uses the version records this sum."""
    damage: str | None
    """How the stored rows differ from those that were imported; null for good ones. Importing the same file again stores
    them anew."""
    left_out: int
    """Records of the source that are not among the rows."""
    findings: list[Finding]
    """Findings of the import. Reports have more."""
    origin: dict[str, Any]
    """Origin of the version: its `type` is `upload`, `fix` or `annotation`."""
    error: DatasetError | None
    """Why it failed, if it did."""
    created_at: Timestamp
    """When it was requested."""
    ready_at: Timestamp | None
    """When jobs could first use it."""
    jobs: list[str]
    """The jobs that use or have used it, newest first."""


class DatasetVersionList(ListOf[DatasetVersion]):
    """A page of versions."""


class DatasetRow(Schema):
    """One row, in canonical form."""

    object: Literal["dataset.row"] = "dataset.row"
    """Always `dataset.row`."""
    line: int
    """Position in the source, from 1. It is a line in text files, where blank lines count and a CSV record has its first line. It is the record's number in JSON arrays and Parquet files."""
    row_number: int
    """Number of the row in the version, from 1."""
    row: dict[str, Any]
    """The row: `prompt` with `a`, `b` and `label`, with `completion`, or alone."""
    split: Literal["train", "eval"] | None
    """The split that a run would put its prompt into; null without a prompt, or until the rows are indexed."""


class DatasetRowList(ListOf[DatasetRow]):
    """Rows of a version, in order. The cursor is the row's number."""

    total: int | None = Field(None, description="How many match; null: more than 10,000.")


class DataTask(Schema):
    """A background task for a dataset."""

    object: Literal["data.task"] = "data.task"
    """Always `data.task`."""
    id: str
    """Begins with `dt_`."""
    kind: str
    """`import`, `index`, `report` and others."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: float
    """From 0 to 1."""
    note: str
    """Current step, or what the task waits for, for people."""
    place: int | None = None
    """Tasks that run or begin before it while it waits in the queue: 0 for the next one. Null once it runs."""
    attempt: int
    """Number of the attempt. A task whose worker is lost is tried three times."""
    error: dict[str, Any] | None
    """`{code, message, …}` of a failed task."""
    created_at: Timestamp
    """When it was queued."""
    started_at: Timestamp | None
    """When the first attempt began."""
    finished_at: Timestamp | None
    """When it ended."""


class DataTaskList(ListOf[DataTask]):
    """The data tasks of a dataset."""


class OverlapSide(Schema):
    """One of the two datasets."""

    id: str
    """`ds_…`"""
    version: int
    """The version that was compared."""
    rows: int
    """Number of rows."""


class OverlapRow(Schema):
    """A row with a prompt that the other dataset holds too."""

    row_number: int
    """Number of the row, from 1."""
    line: int
    """Line in the uploaded file."""
    prompt: str
    """Beginning of the prompt."""


class OverlapSample(Schema):
    """A pair of rows, one of each dataset, with equal or nearly equal prompts."""

    row: OverlapRow
    """The row in `dataset`."""
    other: OverlapRow
    """The row in `other`."""
    similarity: float
    """Share of word triples that occur in both prompts; 1 for equal prompts."""


class SharedPrompts(Schema):
    """Prompts of `dataset` that `other` holds too."""

    prompts: int
    """Number of distinct prompts."""
    rows: int
    """Rows of `dataset` with them."""
    other_rows: int | None
    """Rows of `other` with them; null for near duplicates, whose rows are not counted in `other`."""
    samples: list[OverlapSample]
    """The first pairs of rows, at most 20."""
    complete: bool
    """False if there are more candidate pairs than the platform measures. There may then be more near duplicates."""


class Overlap(Schema):
    """Prompts that two datasets share."""

    object: Literal["dataset.overlap"] = "dataset.overlap"
    """Always `dataset.overlap`."""
    dataset: OverlapSide
    """The dataset whose prompts are searched for."""
    other: OverlapSide
    """The dataset that is searched."""
    exact: SharedPrompts
    """Equal prompts. A text equals a single user message with that text."""
    near: SharedPrompts | None
    """Near duplicates: distinct prompts that share at least 0.8 of their word triples. Null while the rows have no index for them. This request starts the indexing; repeat it later. It stays null if the data worker has no package rensa."""
