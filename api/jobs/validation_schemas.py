from typing import Literal

from api.jobs.schemas import JobError, StoredSpec
from api.schema import DataProgress, Schema, Timestamp
from core.jobs.submission.estimates import RunTime
from core.jobs.submission.validation_result import JobFinding, ValidationResult
from core.models.tasks import TaskStatus


class Validation(Schema):
    """A check of a job spec on the stored datasets and models, without training."""

    object: Literal["job.validation"] = "job.validation"
    """Always `job.validation`."""
    id: str
    """Begins with `validation_`."""
    status: TaskStatus
    """`queued`, `running`, then `succeeded`, `failed` or `cancelled`."""
    progress: DataProgress | None
    """Progress while the check runs; else null."""
    blocked: bool | None
    """Whether a finding is blocking, so that the job would be refused; null until the check has succeeded."""
    spec: StoredSpec
    """The spec with all defaults filled in. It names each dataset by the hash of its rows."""
    findings: list[JobFinding] | None
    """The findings of the check, blocking ones first; null until it has succeeded."""
    result: ValidationResult | None
    """The findings again, with the figures of the run; null until the check has succeeded."""
    time: RunTime | None
    """The expected time by your earlier runs up to now; null until the check has succeeded."""
    error: JobError | None
    """Why the check itself failed; else null."""
    requested_at: Timestamp
    """When the check was requested."""
    finished_at: Timestamp | None
    """When it ended."""
