"""The use of an owner against its quotas, and the check of a submission."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import QuotaExceeded
from core.models import Job, Project
from core.models.jobs import ACTIVE, TERMINAL, JobStatus
from core.quotas import Quotas, quotas_of, stored_bytes
from core.scheduling.policy import month_start, next_month
from core.scheduling.shares import half_life_seconds, share_of
from core.settings import Settings

_DESCRIBED = {
    "running_jobs": "queued or running jobs",
    "gpus": "GPUs of queued and running jobs, with this one",
    "gpu_hours": "GPU-hours of this calendar month",
}
_HOUR = 3600.0


@dataclass(frozen=True)
class Usage:
    """The use of one owner at a time of the database's clock, and its quotas."""

    at: datetime
    period_start: datetime
    """Start of the calendar month, in UTC."""
    period_end: datetime
    quotas: Quotas
    open_jobs: int
    running_jobs: int
    gpus: int
    gpu_hours: float
    """GPU-hours since `period_start`, with those of running jobs until now."""
    stored_bytes: int
    decayed_gpu_hours: float
    """The use that the fair share compares."""


def usage_of(session: Session, owner_id: str, settings: Settings) -> Usage:
    """The use of an owner, running jobs included."""
    owner, now = _owner_and_time(session, owner_id)
    share, at = share_of(owner), now.timestamp()
    unfinished = select(func.count()).select_from(Job).where(Job.owner_id == owner_id, Job.status.not_in(TERMINAL))
    return Usage(
        at=now,
        period_start=datetime.fromtimestamp(month_start(at), UTC),
        period_end=datetime.fromtimestamp(next_month(at), UTC),
        quotas=quotas_of(session, owner_id, settings),
        open_jobs=session.scalars(unfinished).one(),
        running_jobs=share.running,
        gpus=share.slots,
        gpu_hours=share.month_at(at) / _HOUR,
        stored_bytes=stored_bytes(session, owner_id),
        decayed_gpu_hours=share.decayed_at(at, half_life_seconds(settings)) / _HOUR,
    )


def check_size(quotas: Quotas, slots: int) -> None:
    """Raise QuotaExceeded for a job that alone takes more slots than its owner may use. It could never start."""
    if quotas.gpus is not None and slots > quotas.gpus:
        raise QuotaExceeded(
            f"The job takes {slots} GPUs, and your limit is {quotas.gpus} (`gpus`). A process without a GPU counts as "
            "one. Ask for fewer processes, or ask the operator of the platform for a higher limit.",
            quota="gpus",
            limit=quotas.gpus,
            value=slots,
            param="resources.processes",
        )


def check_submission(session: Session, owner_id: str, slots: int, settings: Settings) -> None:
    """Raise QuotaExceeded for a job that may never start within its owner's quotas.

    Raise it also if the owner's submissions are refused beyond its quotas, and this job would exceed one. Queued jobs count as running ones here, since they would run as soon as they can. Call it after
    `core.quotas.check_open_jobs`, which locks the owner.
    """
    quotas = quotas_of(session, owner_id, settings)
    check_size(quotas, slots)
    if quotas.when_exceeded == "queue":
        return
    waiting = Job.status.in_((JobStatus.QUEUED, *ACTIVE))
    counts = select(func.count(), func.coalesce(func.sum(Job.slots), 0)).where(Job.owner_id == owner_id, waiting)
    jobs, taken = session.execute(counts).one()
    owner, now = _owner_and_time(session, owner_id)
    used = share_of(owner).month_at(now.timestamp())
    name = quotas.exceeded(jobs, int(taken), used, slots)
    if name is None:
        return
    limit = getattr(quotas, name)
    value = {"running_jobs": jobs, "gpus": int(taken) + slots, "gpu_hours": round(used / _HOUR, 2)}[name]
    raise QuotaExceeded(
        f"You have {value} {_DESCRIBED[name]}; your limit is {limit} (`{name}`). "
        "Wait until jobs have ended, or ask the operator of the platform for a higher limit.",
        quota=name,
        limit=limit,
        value=value,
    )


def _owner_and_time(session: Session, owner_id: str) -> tuple[Project, datetime]:
    query = select(Project, func.clock_timestamp()).where(Project.id == owner_id)
    owner, now = session.execute(query.execution_options(populate_existing=True)).one()
    return owner, now
