from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PositiveInt

from api.datasets.schemas import DatasetError
from api.schema import DataProgress, ListOf, Schema, Timestamp
from core.models.tasks import TaskStatus
from data.report.result import ReportResult


class RequestReport(Schema):
    """Settings of a report. The same settings for the same version give the same report."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    version: PositiveInt | None = None
    """Number of the version. Left out: the newest."""
    model: Annotated[str, Field(min_length=1)] | None = None
    """Model whose tokenizer is used: a checkpoint's id, a hub id, or a folder that the operator allows. Left out: lengths are in characters and words."""
    chat_template: Literal["auto", "none"] | None = None
    """Same as `data.chat_template` of a job. Left out: `auto`."""
    max_prompt_tokens: PositiveInt | None = None
    """Same as in a job. Left out: the job's default."""
    max_completion_tokens: PositiveInt | None = None
    """Same as in a job. Left out: the job's default."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Same as in a job. Left out: the job's default."""


class ApplyFixes(Schema):
    """The findings to fix."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    findings: Annotated[list[str], Field(min_length=1)]
    """Codes of the findings. `leave_out` stands for all records that the import could not use."""
    version: PositiveInt | None = None
    """Number of the version. Left out: the newest."""
    report: str | None = None
    """The report with these findings, `rep_…`. Left out: the newest finished report on the version."""


class Report(Schema):
    """A report on the quality of a dataset version."""

    object: Literal["dataset.report"] = "dataset.report"
    """Always `dataset.report`."""
    id: str
    """Begins with `rep_`."""
    dataset_id: str
    """The dataset."""
    version: int
    """Number of the version."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: DataProgress | None
    """Progress while the report is being made; else null."""
    settings: dict[str, Any]
    """The requested settings. Settings that are missing have their default."""
    result: ReportResult | None
    """Null until the report is done."""
    error: DatasetError | None
    """Why the report failed; else null."""
    created_at: Timestamp
    """When the report was first requested."""


class ReportList(ListOf[Report]):
    """Reports, newest first."""
