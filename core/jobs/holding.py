"""How a worker holds a job: claim it, keep it by a lease, hand it back or end it.

The lease is judged by the database's clock alone, since no two machines agree about the time.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from core.errors import LeaseLost
from core.job_state import move
from core.models import Job, JobAttempt
from core.models.job import ACTIVE, JobStatus
from core.models.job_attempt import Outcome
from core.settings import get_settings
from core.storable import message, numbers


@dataclass(frozen=True)
class Claim:
    """A job that is the caller's until the lease ends."""

    job_id: str
    owner_id: str
    attempt: int
    spec: dict[str, Any]
    lease_expires_at: datetime


@dataclass(frozen=True)
class LeaseState:
    """What a worker learns when it renews its lease."""

    expires_at: datetime
    cancel_requested: bool


def claim(session: Session, worker_id: str, lease_seconds: float | None = None) -> Claim | None:
    """Take the best queued job: highest priority, then the owner with the fewest at work, then the oldest."""
    job = session.scalars(_best_queued()).first()
    if job is None:
        return None
    columns = {"attempt": job.attempt + 1, "worker_id": worker_id, "lease_expires_at": _lease_end(lease_seconds)}
    started_at = job.started_at or datetime.now(UTC)
    move(session, job, JobStatus.STARTING, f"Claimed by worker {worker_id}.", started_at=started_at, **columns)
    session.add(JobAttempt(job_id=job.id, number=job.attempt, worker_id=worker_id))
    session.flush()
    session.refresh(job, ["lease_expires_at"])
    assert job.lease_expires_at is not None
    return Claim(job.id, job.owner_id, job.attempt, job.spec, job.lease_expires_at)


def _best_queued() -> Select[Job]:
    """Rows that another worker is claiming at this moment are skipped, not waited for."""
    other = aliased(Job)
    at_work = select(func.count()).where(other.owner_id == Job.owner_id, other.status.in_(ACTIVE)).scalar_subquery()
    order = (Job.priority.desc(), at_work, Job.created_at, Job.id)
    query = select(Job).where(Job.status == JobStatus.QUEUED).order_by(*order).limit(1)
    return query.with_for_update(skip_locked=True, of=Job)


def renew_lease(session: Session, job_id: str, attempt: int, lease_seconds: float | None = None) -> LeaseState:
    """Hold the job for another lease, and learn whether somebody wants it cancelled. LeaseLost: let go at once."""
    job = held(session, job_id, attempt)
    job.lease_expires_at = _lease_end(lease_seconds)
    session.flush()
    session.refresh(job, ["lease_expires_at"])
    assert job.lease_expires_at is not None
    return LeaseState(job.lease_expires_at, cancel_requested=job.status == JobStatus.CANCELLING)


def finish(
    session: Session,
    job_id: str,
    attempt: int,
    status: JobStatus,
    reason: str,
    error: dict[str, str] | None = None,
    summary: dict[str, float] | None = None,
) -> None:
    """End the job: succeeded, failed (`error` is `{code, message}`) or cancelled."""
    job = held(session, job_id, attempt)
    figures = numbers(summary) if summary is not None else None
    told = {name: message(value) for name, value in error.items()} if error else None
    move(session, job, status, reason, error=told, summary=figures)
    end_attempt(session, job, Outcome.FINISHED)


def release(session: Session, job_id: str, attempt: int, reason: str) -> JobStatus:
    """Give the job back, saved: to the queue, or to its end where it was to be cancelled. Answers which."""
    job = held(session, job_id, attempt)
    to = after_letting_go(job)
    move(session, job, to, reason)
    end_attempt(session, job, Outcome.RELEASED)
    return to


def held(session: Session, job_id: str, attempt: int) -> Job:
    """The job, locked, if `attempt` still holds it. Every write of a worker passes here (fencing)."""
    job = session.get(Job, job_id, with_for_update=True, populate_existing=True)
    if job is None or job.attempt != attempt or job.status not in ACTIVE:
        state = f"is {job.status}, attempt {job.attempt}" if job else "is gone"
        raise LeaseLost(f"Attempt {attempt} no longer holds {job_id}, which {state}.")
    return job


def after_letting_go(job: Job) -> JobStatus:
    """Where a job goes whose worker is no more."""
    ways = {JobStatus.CANCELLING: JobStatus.CANCELLED, JobStatus.PAUSING: JobStatus.PAUSED}
    return ways.get(JobStatus(job.status), JobStatus.QUEUED)


def end_attempt(session: Session, job: Job, outcome: Outcome) -> None:
    """Close the newest attempt's book."""
    row = session.get_one(JobAttempt, (job.id, job.attempt))
    row.ended_at, row.outcome = datetime.now(UTC), outcome.value
    session.flush()


def _lease_end(seconds: float | None) -> ColumnElement[datetime]:
    lease = timedelta(seconds=get_settings().lease_seconds if seconds is None else seconds)
    return func.clock_timestamp() + lease
