"""How a worker holds a job: claim it, keep it by a lease, hand it back or end it.

The lease is judged by the database's clock alone, since no two machines agree about the time.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from core.errors import LeaseLost
from core.jobs import workers
from core.jobs.state import move
from core.models import Checkpoint, Job, JobAttempt
from core.models.jobs import ACTIVE, JobStatus, Outcome
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


# Puts right what lost workers and lost messages leave behind. Run every few seconds, anywhere, by as many as like.
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
