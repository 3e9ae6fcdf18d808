from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from api.schema import ListOf, Schema, Timestamp
from core.datasets.importing import BadRows
from core.models.datasets import VersionStatus
from core.models.tasks import TaskStatus
from data.kinds import DatasetKind


class ImportDataset(Schema):
    """An upload that is to become a dataset. What is left out is found out by looking into the file."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    upload: str
    """The id of a complete upload, `up_…`."""
    name: str | None = None
    """For people. Left out: the file's name."""
    kind: DatasetKind | None = None
    """What the rows are."""
    format: str | None = None
    """What a record of the file means: an `id` of `GET /v1/reference/formats`."""
    mapping: dict[str, Any] | None = None
    """For the format `custom`: `{"fields": {"prompt": "column or dotted.path", …}, "labels": {"model_a": "a", …}}`."""
    encoding: str | None = None
    """Of the file's text, by a name such as `cp1252` or `shift_jis`. Left out: UTF-8, or what a byte-order mark shows."""
    bad_rows: BadRows = BadRows.REPORT
    """What becomes of a file with records that cannot be used. `report`: the others are stored, but `blocked` until somebody decides; `leave_out`: the others are stored and can be used; `refuse`: nothing is stored."""


class ChangeDataset(Schema):
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1)] | None = None
    """For people."""
    expires_at: AwareDatetime | None = None
    """When it may be deleted, unless an unfinished job uses it then; null: never."""


class FindingSample(Schema):
    """A record that a finding is about."""

    line: int
    """Where it is in the source."""
    row: int | None
    """Its number among the stored rows; null: it is none of them."""
    text: str
    """How it begins."""


class FindingFix(Schema):
    """What can be done about a finding."""

    id: str
    """For programs."""
    label: str
    """For people."""


class Finding(Schema):
    """One kind of trouble, and where it is."""

    code: str
    """For programs."""
    severity: Literal["blocking", "warning", "info"]
    """`blocking`: of an import, no job can use the version before somebody has decided; of a report, training on these rows is pointless."""
    title: str
    """For people."""
    detail: str
    """What exactly."""
    count: int
    """How often."""
    share: float | None
    """Of all records, from 0 to 1; null: it is about the dataset as a whole."""
    lines: list[int]
    """The first of them, by their lines in the source."""
    samples: list[FindingSample]
    """Some of them."""
    fix: FindingFix | None
    """What can be done about it with one click, where something can."""


class FindingCounts(Schema):
    """How many findings there are, of the import and of the newest report."""

    blocking: int = 0
    """That keep jobs from using it."""
    warning: int = 0
    """That are worth a look."""


class DataProgress(Schema):
    """How far something is."""

    fraction: float
    """From 0 to 1."""
    note: str
    """At what it is, for people."""


class DatasetError(Schema):
    """Why a version could not be made."""

    code: str
    """For programs."""
    message: str
    """For people."""
    errors: list[dict[str, Any]] | None = None
    """The first bad records: `line`, `detail`, and `column` or `pointer` where known."""


class Dataset(Schema):
    """A name under which versions of some data lie. What is said of rows is said of the newest version."""

    object: Literal["dataset"] = "dataset"
    """Always `dataset`."""
    id: str
    """Begins with `ds_`. In a job it means the newest ready version; `ds_…@2` and `ds_…@sha256:…` mean that one."""
    name: str
    """For people."""
    kind: DatasetKind
    """What its rows are."""
    status: VersionStatus
    """Of the newest version: `importing`, then `ready`, `blocked` (see its findings) or `failed` (see `error`)."""
    version: int
    """Number of the newest version."""
    rows: int | None
    """How many there are; null until they are stored."""
    bytes: int | None
    """Their size as stored."""
    sha256: str | None
    """Of the rows as stored, in canonical form: equal rows have equal sums."""
    findings: FindingCounts
    """What is known to be wrong with it."""
    progress: DataProgress | None
    """While it is importing."""
    error: DatasetError | None
    """Why the newest version failed, if it did."""
    origin: dict[str, Any]
    """How the newest version came about: its `type` is `upload`, `fix` or `annotation`."""
    created_at: Timestamp
    """When the first version was."""
    archived_at: Timestamp | None
    """Since when it is left out of lists."""
    expires_at: Timestamp | None
    """When it may be deleted; null: never."""


class DatasetList(ListOf[Dataset]):
    """Datasets."""


class DatasetVersion(Schema):
    """Some rows at some time. It never changes once it is no longer importing."""

    object: Literal["dataset.version"] = "dataset.version"
    """Always `dataset.version`."""
    id: str
    """Begins with `dv_`."""
    dataset_id: str
    """Whose version it is."""
    number: int
    """1, 2, …"""
    parent: int | None
    """Number of the version that it was made from."""
    status: VersionStatus
    """`importing`, then `ready`, `blocked` or `failed`."""
    rows: int | None
    """How many there are; null until they are stored."""
    bytes: int | None
    """Their size as stored."""
    sha256: str | None
    """Of the rows as stored: a job that uses it names this sum."""
    left_out: int
    """Records of the source that are not among the rows."""
    findings: list[Finding]
    """What the import found. Reports find more."""
    origin: dict[str, Any]
    """How it came about: its `type` is `upload`, `fix` or `annotation`."""
    error: DatasetError | None
    """Why it failed, if it did."""
    created_at: Timestamp
    """When it was asked for."""
    ready_at: Timestamp | None
    """Since when jobs can use it."""
    jobs: list[str]
    """The jobs that use or have used it, newest first."""


class DatasetVersionList(ListOf[DatasetVersion]):
    """Versions of a dataset."""


class DatasetRow(Schema):
    """One row, in canonical form."""

    object: Literal["dataset.row"] = "dataset.row"
    """Always `dataset.row`."""
    line: int
    """Where it came from: the line of the file as it was uploaded (blank ones counted), the line where a CSV record begins, the place from 1 in a JSON array or a Parquet file."""
    row_number: int
    """Its number in this version, from 1."""
    row: dict[str, Any]
    """The row: `prompt` with `a`, `b` and `label`, with `completion`, or alone."""
    split: Literal["train", "eval"] | None
    """Whether a run would train on its prompt or hold it out; null where it has no prompt, or until the index is made."""


class DatasetRowList(ListOf[DatasetRow]):
    """Rows of a version, in order. The cursor is the row's number."""

    total: int | None = Field(None, description="How many match; null: more than 10,000.")


class DataTask(Schema):
    """Something that is being done to a dataset."""

    object: Literal["data.task"] = "data.task"
    """Always `data.task`."""
    id: str
    """Begins with `dt_`."""
    kind: str
    """`import`, `index`, `report` and others."""
    status: TaskStatus
    """`queued`, `running`, then `done`, `failed` or `cancelled`."""
    progress: float
    """From 0 to 1."""
    note: str
    """What it is at, for people."""
    attempt: int
    """Which try this is; a task whose worker is lost is tried three times."""
    error: dict[str, Any] | None
    """`{code, message, …}` of one that failed."""
    created_at: Timestamp
    """When it was queued."""
    started_at: Timestamp | None
    """When the first try began."""
    finished_at: Timestamp | None
    """When it ended."""


class DataTaskList(ListOf[DataTask]):
    """Data tasks."""


# What two datasets have in common.
class OverlapSide(Schema):
    """One of the two datasets."""

    id: str
    """`ds_…`"""
    version: int
    """The version that was compared."""
    rows: int
    """Its rows."""


class OverlapRow(Schema):
    """A row with a prompt that the other dataset holds too."""

    row_number: int
    """Its number, from 1."""
    line: int
    """Where it is in the file that was uploaded."""
    prompt: str
    """How its prompt begins."""


class OverlapSample(Schema):
    """The first row of each dataset with one prompt, or with two that are nearly the same."""

    row: OverlapRow
    """In `dataset`."""
    other: OverlapRow
    """In `other`."""
    similarity: float
    """Share of the word triples that both prompts have; 1 for equal prompts."""


class SharedPrompts(Schema):
    """Prompts of `dataset` that `other` holds."""

    prompts: int
    """How many different ones."""
    rows: int
    """Rows of `dataset` with them."""
    other_rows: int | None
    """Rows of `other` with them; null for near duplicates, which are not counted there."""
    samples: list[OverlapSample]
    """The first of them, 20 at most."""
    complete: bool
    """False: more pairs of prompts look alike than are measured, so there may be more near duplicates."""


class Overlap(Schema):
    """Prompts that two datasets share."""

    object: Literal["dataset.overlap"] = "dataset.overlap"
    """Always `dataset.overlap`."""
    dataset: OverlapSide
    """The one whose prompts are looked for."""
    other: OverlapSide
    """The one in which they are looked for."""
    exact: SharedPrompts
    """Equal prompts: text, and one message of the user's with that text, are the same prompt."""
    near: SharedPrompts | None
    """Near duplicates: other prompts that share 0.8 of their word triples or more. Null: not known yet. An older version of the platform indexed the rows without what these are found by; this request has them indexed again, so compare again later. It stays null where the data worker has no rensa."""
