"""The states of a job: the table of transitions, and the only function that changes the status."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from core.db import storable_message
from core.errors import IllegalTransition
from core.jobs.actors import Actor
from core.live import announce
from core.models import CheckpointPin, Job, JobEvent
from core.models.jobs import ACTIVE, TERMINAL, JobStatus

S = JobStatus
TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    S.QUEUED: frozenset({S.STARTING, S.CANCELLED}),
    # To queued: the worker was lost, or gave the job back. To failed: the trainer ended before the run began.
    S.STARTING: frozenset({S.RUNNING, S.QUEUED, S.PAUSING, S.CANCELLING, S.FAILED}),
    S.RUNNING: frozenset({S.SUCCEEDED, S.FAILED, S.QUEUED, S.PAUSING, S.CANCELLING}),
    S.PAUSING: frozenset({S.PAUSED, S.SUCCEEDED, S.FAILED, S.CANCELLING, S.QUEUED}),
    S.PAUSED: frozenset({S.QUEUED, S.CANCELLED}),
    # A run may end by itself before the worker sees the cancel request.
    S.CANCELLING: frozenset({S.CANCELLED, S.SUCCEEDED, S.FAILED}),
    S.SUCCEEDED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
}


def change_status(session: Session, job: Job, to: JobStatus, reason: str, actor: Actor, **columns: Any) -> None:
    """Change the status, append the event with its reason and its actor, and set further `columns`.

    Only this function changes `Job.status`. It locks and re-reads the row, so concurrent changes see each other. Raises
    IllegalTransition.
    """
    session.refresh(job, with_for_update=True)
    start = JobStatus(job.status)
    if to not in TRANSITIONS[start]:
        raise IllegalTransition(start.value, to.value, sorted(TRANSITIONS[start]))
    if to not in ACTIVE:
        columns |= {"worker_id": None, "lease_expires_at": None}
    if to in TERMINAL:
        columns |= {"finished_at": datetime.now(UTC)}
        session.execute(delete(CheckpointPin).where(CheckpointPin.job_id == job.id))
    for name, value in columns.items():
        setattr(job, name, value)
    _write(session, job, start, to, storable_message(reason), actor)


def write_first_status(session: Session, job: Job, reason: str, actor: Actor) -> None:
    """Set the status `queued` of a new job, and append the event."""
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
    announce(session, job.id, job.last_seq)


def request_cancel(session: Session, job: Job, actor: Actor) -> None:
    """Cancel a job without a worker at once, otherwise request it from the worker. Raises IllegalTransition after its end."""
    session.refresh(job, with_for_update=True)
    to = JobStatus.CANCELLING if job.status in ACTIVE else JobStatus.CANCELLED
    change_status(session, job, to, "Cancelled by its owner.", actor)
