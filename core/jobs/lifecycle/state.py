"""The states of a job: the transitions, the requests that a user may make, and the function that changes the status."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, func
from sqlalchemy.orm import Session

from core.db import storable_message
from core.errors import IllegalTransition
from core.jobs.lifecycle.actors import Actor
from core.live import announce
from core.models import CheckpointPin, Job, JobEvent
from core.models.jobs import ACTIVE, TERMINAL, JobStatus
from core.scheduling.lines import enter_line
from core.webhooks import outbox
from core.webhooks.event_types import OF_STATUS, job_data

S = JobStatus
TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    S.QUEUED: frozenset({S.STARTING, S.PAUSED, S.CANCELLED}),
    # To queued: the worker was lost, or gave the job back. To failed: the trainer ended before the run began.
    S.STARTING: frozenset({S.RUNNING, S.QUEUED, S.PAUSING, S.PAUSED, S.CANCELLING, S.FAILED}),
    # To paused: a health rule paused the run.
    S.RUNNING: frozenset({S.SUCCEEDED, S.FAILED, S.QUEUED, S.PAUSING, S.PAUSED, S.CANCELLING}),
    # A run may end by itself before the worker sees the request to pause or to cancel.
    # To queued: the run was preempted.
    S.PAUSING: frozenset({S.PAUSED, S.QUEUED, S.SUCCEEDED, S.FAILED, S.CANCELLING}),
    S.PAUSED: frozenset({S.QUEUED, S.CANCELLED}),
    S.CANCELLING: frozenset({S.CANCELLED, S.SUCCEEDED, S.FAILED}),
    S.SUCCEEDED: frozenset(),
    # A retry. The result of a run that succeeded never changes.
    S.FAILED: frozenset({S.QUEUED}),
    S.CANCELLED: frozenset({S.QUEUED}),
}


class Request(StrEnum):
    """A transition that a user may ask for."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"


REQUESTS: dict[Request, dict[JobStatus, JobStatus]] = {
    Request.CANCEL: dict.fromkeys((S.QUEUED, S.PAUSED), S.CANCELLED)
    | dict.fromkeys((S.STARTING, S.RUNNING, S.PAUSING), S.CANCELLING),
    Request.PAUSE: {S.QUEUED: S.PAUSED} | dict.fromkeys((S.STARTING, S.RUNNING), S.PAUSING),
    Request.RESUME: {S.PAUSED: S.QUEUED},
    Request.RETRY: dict.fromkeys((S.FAILED, S.CANCELLED), S.QUEUED),
}
"""For each request, the states in which it is allowed, and the state that it leads to at once."""
_GOALS = {Request.CANCEL: S.CANCELLED, Request.PAUSE: S.PAUSED, Request.RESUME: S.QUEUED, Request.RETRY: S.QUEUED}
_REASONS = {
    Request.CANCEL: "Cancelled by its owner.",
    Request.PAUSE: "Paused by its owner.",
    Request.RESUME: "Resumed by its owner.",
    Request.RETRY: "Retried by its owner.",
}


def request(session: Session, job: Job, wanted: Request, actor: Actor, reason: str = "") -> None:
    """Do what a user asks for, or ask the worker that holds the job for it. Raises IllegalTransition.

    `reason`: the user's own words; empty: a sentence that names the request.
    """
    to = check_request(session, job, wanted)
    # A person has looked at the job, so the attempts that were lost before no longer count.
    columns = {"forgiven_attempts": job.attempt} if to is S.QUEUED else {}
    change_status(session, job, to, reason.strip() or _REASONS[wanted], actor, **columns)


def check_request(session: Session, job: Job, wanted: Request) -> JobStatus:
    """The state that the request leads to at once. The row is locked until the commit. Raises IllegalTransition."""
    session.refresh(job, with_for_update=True)
    start = JobStatus(job.status)
    to = REQUESTS[wanted].get(start)
    if to is None:
        allowed = sorted(REQUESTS[other][start] for other in allowed_requests(start))
        raise IllegalTransition(start, _GOALS[wanted], allowed, allowed_requests(start))
    return to


def allowed_requests(status: JobStatus) -> list[Request]:
    """The requests that a user may make about a job in this state."""
    return sorted(wanted for wanted, starts in REQUESTS.items() if status in starts)


def change_status(session: Session, job: Job, to: JobStatus, reason: str, actor: Actor, **columns: Any) -> None:
    """Change the status, append the event with its reason and its actor, and set further `columns`.

    Only this function and the statement of a claim (core/scheduling/claim.py) change `Job.status`. It locks and re-reads
    the row, so concurrent changes see each other. Raises IllegalTransition.
    """
    session.refresh(job, with_for_update=True)
    start = JobStatus(job.status)
    if to not in TRANSITIONS[start]:
        raise IllegalTransition(start.value, to.value, sorted(TRANSITIONS[start]))
    if start in TERMINAL:
        columns |= {"finished_at": None, "error": None, "summary": None}
    if to not in ACTIVE:
        columns |= {"worker_id": None, "lease_expires_at": None}
    if to not in (S.STARTING, S.PAUSING, S.CANCELLING):
        columns |= {"waits_because": None}
    if to is not S.PAUSING:
        columns |= {"preempting": False}
    if to is S.QUEUED:
        columns |= {"queued_at": func.clock_timestamp()}
    if to in TERMINAL:
        columns |= {"finished_at": datetime.now(UTC)}
        session.execute(delete(CheckpointPin).where(CheckpointPin.job_id == job.id))
    for name, value in columns.items():
        setattr(job, name, value)
    _write(session, job, start, to, storable_message(reason), actor)


def write_first_status(session: Session, job: Job, reason: str, actor: Actor) -> None:
    """Set the status `queued` of a new job and its submitter, and append the event."""
    job.submitted_by = actor.name
    _write(session, job, None, S.QUEUED, reason, actor)


def _write(session: Session, job: Job, start: JobStatus | None, to: JobStatus, reason: str, actor: Actor) -> None:
    job.status, job.status_reason, job.last_seq = to.value, reason, job.last_seq + 1
    data: dict[str, Any] = {"from": start and start.value, "to": to.value, "reason": reason, "error": job.error}
    data["actor"] = actor.as_json()
    event = JobEvent(
        job_id=job.id,
        seq=job.last_seq,
        attempt=job.attempt,
        type="status_changed",
        created_at=datetime.now(UTC),
        data=data,
    )
    session.add_all([job, event])
    session.flush()
    if to is S.QUEUED:
        enter_line(session, job.id)
    if (event_type := OF_STATUS.get(to)) is not None:
        outbox.record(session, job.owner_id, event_type, job.id, lambda: job_data(job, start and start.value))
    announce(session, job.id, job.last_seq)
