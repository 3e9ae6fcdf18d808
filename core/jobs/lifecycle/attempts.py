"""Attempts at jobs: claim, renew, finish, release, and what happens when a worker is lost."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.util import identity_key

from core.db import storable_message, storable_numbers
from core.jobs.lifecycle import actors
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.state import change_status
from core.jobs.queue.workers import is_draining
from core.leasing import LeasedTable, SweepResult
from core.live import announce
from core.models import Checkpoint, Job, JobAttempt
from core.models.jobs import ACTIVE, JobStatus, Outcome
from core.scheduling.claim import start_next_job
from core.scheduling.matching import EVERYTHING, Capacity
from core.scheduling.shares import end_attempt
from core.settings import get_settings


@dataclass(frozen=True)
class Claim:
    """An attempt that has begun. The worker holds the job until the lease expires."""

    job_id: str
    owner_id: str
    attempt: int
    spec: dict[str, Any]
    lease_expires_at: datetime


@dataclass(frozen=True)
class LeaseState:
    """The result of a renewal."""

    expires_at: datetime
    cancel_requested: bool
    pause_requested: bool
    drain_requested: bool
    """An operator has asked the worker to give the job back."""


class LeasedJobs(LeasedTable[Job]):
    """The jobs that workers hold."""

    model = Job
    leased = ACTIVE

    def __init__(self, max_attempts: int | None = None) -> None:
        self._max_attempts = max_attempts

    def lease_seconds(self) -> float:
        return get_settings().job_lease_seconds

    def take_away(self, session: Session, row: Job, reason: str) -> JobStatus:
        return self.lose(session, row, reason, actors.PLATFORM)

    def lose(self, session: Session, row: Job, reason: str, actor: Actor, code: str = "too_many_attempts") -> JobStatus:
        """End the attempt as lost. The job fails with `code` after too many attempts without a new checkpoint."""
        _end_attempt(session, row, Outcome.LOST)
        lost = _lost_since_checkpoint(session, row)
        limit = get_settings().max_attempts if self._max_attempts is None else self._max_attempts
        to = _status_after_release(row)
        if to is JobStatus.QUEUED and lost >= limit:
            text = storable_message(f"{reason} This was attempt {lost} in a row without a new checkpoint.")
            error = {"code": code, "message": text}
            change_status(session, row, JobStatus.FAILED, text, actor, error=error)
            return JobStatus.FAILED
        if to is JobStatus.PAUSED:
            reason = f"{reason} The job is paused, and resumes from its last checkpoint."
        change_status(session, row, to, reason, actor)
        return to


_JOBS = LeasedJobs()


def claim(session: Session, worker_id: str, capacity: Capacity = EVERYTHING) -> Claim | None:
    """Start an attempt at the job that the scheduling policy chooses for the worker; None if no queued job may start there."""
    session.flush()
    job = start_next_job(session, worker_id, actors.worker(worker_id).as_json(), capacity)
    if job is None:
        return None
    if (loaded := session.identity_map.get(identity_key(Job, job.id))) is not None:
        session.expire(loaded)  # the statement has changed the row
    announce(session, job.id, job.last_seq)
    return Claim(job.id, job.owner_id, job.attempt, job.spec, job.lease_expires_at)


def claims_of(session: Session, worker_id: str) -> list[Claim]:
    """The attempts that a worker holds, as their claims returned them."""
    rows = session.scalars(select(Job).where(Job.worker_id == worker_id, Job.status.in_(ACTIVE)).order_by(Job.id))
    return [_claim_of(row) for row in rows]


def _claim_of(job: Job) -> Claim:
    assert job.lease_expires_at is not None
    return Claim(job.id, job.owner_id, job.attempt, job.spec, job.lease_expires_at)


def held(session: Session, job_id: str, attempt: int) -> Job:
    """The job, locked until the commit. Raises LeaseLost unless `attempt` still holds it."""
    return _JOBS.held(session, job_id, attempt)


def renew(session: Session, job_id: str, attempt: int) -> LeaseState:
    """Extend the lease. Raises LeaseLost."""
    job = _JOBS.renew(session, held(session, job_id, attempt))
    assert job.lease_expires_at is not None
    return LeaseState(
        job.lease_expires_at,
        cancel_requested=job.status == JobStatus.CANCELLING,
        pause_requested=job.status == JobStatus.PAUSING,
        drain_requested=is_draining(session, job.worker_id),
    )


def finish(
    session: Session,
    job_id: str,
    attempt: int,
    status: JobStatus,
    reason: str,
    error: dict[str, str] | None = None,
    summary: dict[str, float] | None = None,
) -> None:
    """End the job as succeeded, failed (`error` is `{code, message}`) or cancelled. Raises LeaseLost."""
    job = held(session, job_id, attempt)
    stored_summary = storable_numbers(summary) if summary is not None else None
    stored_error = {name: storable_message(value) for name, value in error.items()} if error else None
    actor = actors.worker(job.worker_id)
    change_status(session, job, status, reason, actor, error=stored_error, summary=stored_summary)
    _end_attempt(session, job, Outcome.FINISHED)


def release(session: Session, job_id: str, attempt: int, reason: str) -> JobStatus:
    """Give a saved job back. Returns its new status: queued, or cancelled or paused where that was requested."""
    job = held(session, job_id, attempt)
    to = _status_after_release(job)
    _end_attempt(session, job, Outcome.RELEASED)  # before the change, which locks the line: a claim locks in this order
    change_status(session, job, to, reason, actors.worker(job.worker_id))
    return to


def pause(session: Session, job_id: str, attempt: int, reason: str, actor: Actor | None = None) -> JobStatus:
    """Pause a job on behalf of `actor`; None: its worker. Returns its new status: paused, or cancelled where requested."""
    job = held(session, job_id, attempt)
    to = JobStatus.CANCELLED if job.status == JobStatus.CANCELLING else JobStatus.PAUSED
    change_status(session, job, to, reason, actor or actors.worker(job.worker_id))
    _end_attempt(session, job, Outcome.RELEASED)
    return to


def lose(
    session: Session,
    job_id: str,
    attempt: int,
    reason: str,
    *,
    waits: bool = False,
    code: str = "too_many_attempts",
) -> JobStatus:
    """End the attempt as if its worker had been lost, with the same limit of attempts. Returns the job's new status.

    `waits`: the reason is also that of a queued job, until its trainer runs again.
    `code`: that of the error if the limit is reached.
    For a worker that still runs, but whose trainer was killed or whose disk failed.
    """
    job = held(session, job_id, attempt)
    to = _JOBS.lose(session, job, reason, actors.worker(job.worker_id), code)
    if waits and to is JobStatus.QUEUED:
        job.waits_because = storable_message(reason)
        session.flush()
    return to


def run_seconds(session: Session, job_id: str) -> float:
    """Wall time of the attempts at the job so far, in seconds. Those before a retry of the ended job do not count."""
    ended = select(func.max(JobAttempt.number)).where(
        JobAttempt.job_id == job_id, JobAttempt.outcome == Outcome.FINISHED.value
    )
    seconds = func.extract("epoch", func.coalesce(JobAttempt.ended_at, func.clock_timestamp()) - JobAttempt.started_at)
    since = (JobAttempt.job_id == job_id, JobAttempt.number > func.coalesce(ended.scalar_subquery(), 0))
    return float(session.scalars(select(func.sum(seconds)).where(*since)).one() or 0)


def sweep(session: Session, max_attempts: int | None = None) -> SweepResult:
    """Take jobs with an expired lease away from their workers, and list the queued jobs."""
    return LeasedJobs(max_attempts).sweep(session)


def _status_after_release(job: Job) -> JobStatus:
    paused = JobStatus.QUEUED if job.preempting else JobStatus.PAUSED
    ends = {JobStatus.CANCELLING: JobStatus.CANCELLED, JobStatus.PAUSING: paused}
    return ends.get(JobStatus(job.status), JobStatus.QUEUED)


def _end_attempt(session: Session, job: Job, outcome: Outcome) -> None:
    """End the attempt of a locked job, and count its use. Called once for each attempt."""
    row = session.get_one(JobAttempt, (job.id, job.attempt))
    row.ended_at, row.outcome = end_attempt(session, job.owner_id, row.slots), outcome.value
    job.gpu_seconds += row.slots * max((row.ended_at - row.started_at).total_seconds(), 0.0)
    session.flush()


def _lost_since_checkpoint(session: Session, job: Job) -> int:
    """The number of attempts lost since the newest checkpoint, and since a user resumed the job.

    A run that makes progress is never given up.
    """
    newest = select(func.max(Checkpoint.attempt)).where(Checkpoint.job_id == job.id).scalar_subquery()
    lost = (JobAttempt.job_id == job.id, JobAttempt.outcome == Outcome.LOST.value)
    query = select(func.count()).where(*lost, JobAttempt.number > func.greatest(newest, job.forgiven_attempts))
    return session.scalars(query).one()
