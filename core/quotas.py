"""The quotas of an owner: unfinished jobs and imports, running jobs, GPUs, GPU-hours and stored bytes.

A check holds a lock of the owner until the commit, so that concurrent requests of one owner cannot pass the limit together.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import QuotaExceeded
from core.lanes import IMPORTS
from core.models import Checkpoint, Dataset, DatasetContent, DatasetVersion, DataTask, Job, Project, Upload, UploadPart
from core.models.jobs import TERMINAL
from core.models.tasks import TaskStatus
from core.models.uploads import UploadStatus
from core.settings import Settings

QuotaName = Literal["running_jobs", "gpus", "gpu_hours"]
Amount = Annotated[int, Field(ge=0)]


class Quotas(BaseModel):
    """The limits of one owner. None is no limit. A process on a worker without a GPU counts as one GPU."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    open_jobs: Amount | None = None
    """Unfinished jobs."""
    stored_bytes: Amount | None = None
    """Bytes of uploads, rows of datasets and checkpoints."""
    running_jobs: Amount | None = None
    """Jobs that run at once."""
    gpus: Amount | None = None
    """GPUs that the running jobs take at once."""
    gpu_hours: Amount | None = None
    """GPU-hours in a calendar month (UTC). At the limit, running jobs go on and no further job starts."""
    when_exceeded: Literal["queue", "refuse"] = "queue"
    """`queue`: a job beyond the running jobs, GPUs or GPU-hours waits. `refuse`: its submission is refused."""

    @property
    def limits_running(self) -> bool:
        """Whether `exceeded` ever returns a name."""
        return not (self.running_jobs is None and self.gpus is None and self.gpu_hours is None)

    def exceeded(self, running: int, slots: int, month_seconds: float, more_slots: int) -> QuotaName | None:
        """The first quota that one more running job with `more_slots` slots exceeds; None if it may start."""
        if self.running_jobs is not None and running >= self.running_jobs:
            return "running_jobs"
        if self.gpus is not None and slots + more_slots > self.gpus:
            return "gpus"
        if self.gpu_hours is not None and month_seconds >= self.gpu_hours * 3600:
            return "gpu_hours"
        return None


def default_quotas(settings: Settings) -> Quotas:
    """The quotas of an owner without quotas of its own."""
    return Quotas(
        open_jobs=settings.max_open_jobs,
        stored_bytes=settings.max_owner_bytes,
        running_jobs=settings.max_running_jobs,
        gpus=settings.max_owner_gpus,
        gpu_hours=settings.max_owner_gpu_hours,
        when_exceeded=settings.when_quota_exceeded,
    )


def quotas_of(session: Session, owner_id: str, settings: Settings) -> Quotas:
    """The quotas of an owner: its own ones, and the defaults for the others."""
    own = session.scalars(select(Project.quotas).where(Project.id == owner_id)).one_or_none()
    return _with_defaults(own or {}, settings)


def owner_quotas(owner: Project, settings: Settings) -> Quotas:
    """The same for a row."""
    return _with_defaults(owner.quotas, settings)


def _with_defaults(own: dict[str, Any], settings: Settings) -> Quotas:
    return Quotas.model_validate(default_quotas(settings).model_dump() | own)


def check_open_jobs(session: Session, owner_id: str, settings: Settings) -> None:
    """Raise QuotaExceeded if the owner has as many unfinished jobs as allowed."""
    _lock(session, owner_id)
    query = select(func.count()).select_from(Job).where(Job.owner_id == owner_id, Job.status.not_in(TERMINAL))
    found, allowed = session.scalars(query).one(), quotas_of(session, owner_id, settings).open_jobs
    if allowed is not None and found >= allowed:
        raise QuotaExceeded(
            f"You have {found} unfinished jobs. This platform allows {allowed} (PROXIMAL_MAX_OPEN_JOBS). "
            "Wait until some have ended, or cancel them.",
            setting="PROXIMAL_MAX_OPEN_JOBS",
            limit=allowed,
            value=found,
        )


def check_open_imports(session: Session, owner_id: str, settings: Settings) -> None:
    """Raise QuotaExceeded if the owner has as many unfinished imports as allowed."""
    _lock(session, owner_id)
    query = select(func.count()).select_from(DataTask).where(DataTask.owner_id == owner_id)
    query = query.where(DataTask.kind.in_(IMPORTS), DataTask.status.in_((TaskStatus.QUEUED, TaskStatus.RUNNING)))
    found, allowed = session.scalars(query).one(), settings.max_open_imports
    if found >= allowed:
        raise QuotaExceeded(
            f"You have {found} unfinished imports. This platform allows {allowed} (PROXIMAL_MAX_OPEN_IMPORTS). "
            "Wait until some have ended, or delete their uploads or datasets.",
            setting="PROXIMAL_MAX_OPEN_IMPORTS",
            limit=allowed,
            value=found,
        )


def check_storage(session: Session, owner_id: str, settings: Settings, more: int = 0) -> None:
    """Raise QuotaExceeded if the owner's bytes and `more` new ones exceed the limit."""
    _lock(session, owner_id)
    wanted, allowed = stored_bytes(session, owner_id) + more, quotas_of(session, owner_id, settings).stored_bytes
    if allowed is not None and wanted > allowed:
        raise QuotaExceeded(
            f"Your uploads, datasets and checkpoints would take {wanted} bytes. This platform allows {allowed} "
            "(PROXIMAL_MAX_OWNER_BYTES). Delete uploads or datasets that you no longer need.",
            setting="PROXIMAL_MAX_OWNER_BYTES",
            limit=allowed,
            value=wanted,
        )


def stored_bytes(session: Session, owner_id: str) -> int:
    """Bytes of the owner's uploads (announced or received), distinct dataset rows, and checkpoints."""
    parts = select(func.sum(UploadPart.bytes)).where(UploadPart.upload_id == Upload.id).scalar_subquery()
    uploads = select(func.sum(func.coalesce(Upload.bytes, parts, 0)))
    uploads = uploads.where(Upload.owner_id == owner_id, Upload.status != UploadStatus.FAILED)
    used = select(DatasetVersion.sha256).join(Dataset, Dataset.id == DatasetVersion.dataset_id)
    used = used.where(Dataset.owner_id == owner_id)
    rows = select(func.sum(DatasetContent.bytes)).where(DatasetContent.sha256.in_(used))
    checkpoints = select(func.sum(Checkpoint.bytes)).join(Job, Job.id == Checkpoint.job_id)
    checkpoints = checkpoints.where(Job.owner_id == owner_id)
    return sum(int(session.scalars(query).one() or 0) for query in (uploads, rows, checkpoints))


def _lock(session: Session, owner_id: str) -> None:
    """An advisory lock. The owner's row stays free for claims, which must not wait for an upload or an import."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(owner_id, 0))))
