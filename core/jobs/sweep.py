"""Puts right what lost workers and lost messages leave behind. Run every few seconds, anywhere, by as many as like."""

from dataclasses import dataclass, field

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from core import workers
from core.job_state import move
from core.jobs.holding import after_letting_go, end_attempt, held
from core.models import Checkpoint, Job, JobAttempt
from core.models.job import ACTIVE, JobStatus
from core.models.job_attempt import Outcome
from core.settings import get_settings
from core.storable import message


@dataclass(frozen=True)
class SweepResult:
    """`requeued`, `failed`, `cancelled`: jobs whose worker was lost. `queued`: every job that waits and deserves a knock."""

    requeued: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    workers_gone: list[str] = field(default_factory=list)


def sweep(session: Session, max_attempts: int | None = None) -> SweepResult:
    """Take the jobs of lost workers away from them, forget the workers, and list what waits."""
    limit = get_settings().max_attempts if max_attempts is None else max_attempts
    result = SweepResult(workers_gone=workers.forget_silent(session))
    for job in session.scalars(_expired()):
        to = _take_away(session, job, limit, f"Worker {job.worker_id} was lost: its lease expired.")
        {JobStatus.FAILED: result.failed, JobStatus.CANCELLED: result.cancelled}.get(to, result.requeued).append(job.id)
    result.queued.extend(session.scalars(select(Job.id).where(Job.status == JobStatus.QUEUED)))
    return result


def lose(session: Session, job_id: str, attempt: int, reason: str) -> JobStatus:
    """The worker is there, but its trainer was killed: another try, within the same limits as for a lost worker."""
    return _take_away(session, held(session, job_id, attempt), get_settings().max_attempts, reason)


def _expired() -> Select[Job]:
    """By the database's clock. Rows that somebody has locked are skipped: a heartbeat or another sweeper is at them."""
    query = select(Job).where(Job.status.in_(ACTIVE), Job.lease_expires_at < func.clock_timestamp())
    return query.with_for_update(skip_locked=True)


def _take_away(session: Session, job: Job, limit: int, reason: str) -> JobStatus:
    """End the attempt as lost; answer where the job went."""
    end_attempt(session, job, Outcome.LOST)
    lost = _lost_since_checkpoint(session, job)
    to = after_letting_go(job)
    if to is JobStatus.QUEUED and lost >= limit:
        told = message(f"{reason} This was try {lost} in a row without a new checkpoint.")
        move(session, job, JobStatus.FAILED, told, error={"code": "too_many_attempts", "message": told})
        return JobStatus.FAILED
    move(session, job, to, reason)
    return to


def _lost_since_checkpoint(session: Session, job: Job) -> int:
    """A run that moves on is not given up, however often its machines die."""
    newest = select(func.max(Checkpoint.attempt)).where(Checkpoint.job_id == job.id).scalar_subquery()
    lost = (JobAttempt.job_id == job.id, JobAttempt.outcome == Outcome.LOST.value)
    query = select(func.count()).where(*lost, JobAttempt.number > func.coalesce(newest, 0))
    return session.scalars(query).one()
