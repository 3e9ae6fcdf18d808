"""What a worker reports while it works: events in order, and what follows from them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from core.db import storable_numbers
from core.jobs.attempts import held
from core.jobs.progress import apply_event
from core.jobs.state import change_status
from core.models import Job, JobAttempt, JobEvent, JobMetrics
from core.models.jobs import JobStatus
from data.text import storable
from trainer.events import Event, Metrics, RunStarted


def append_events(
    session: Session, job_id: str, attempt: int, events: Sequence[Event], log_offset: int | None = None
) -> int:
    """Store a batch of the trainer's events under the next sequence numbers; answer the last one.

    `log_offset`: where the batch ends in the trainer's log, to be asked for when a commit's outcome is not known.

    The job's row is locked from here to the commit, so a job's events become visible in the order of their numbers,
    and a cursor never steps over one that is still on its way.
    """
    job = held(session, job_id, attempt)
    if job.status == JobStatus.STARTING and any(isinstance(event, RunStarted) for event in events):
        change_status(session, job, JobStatus.RUNNING, "The trainer has started.")
    if events:
        _insert_events(session, job, events)
        _upsert_metrics(session, job, [event for event in events if isinstance(event, Metrics)])
        for event in events:
            apply_event(job, event)
        job.last_seq += len(events)
        session.flush()
    if log_offset is not None:
        session.get_one(JobAttempt, (job_id, attempt)).log_offset = log_offset
    return job.last_seq


def append_event(session: Session, job: Job, event: Event) -> None:
    """Append an event that the platform itself has to tell about a job that it has locked, or has just made."""
    session.flush()  # the job's row comes first
    _insert_events(session, job, [event])
    job.last_seq += 1
    session.flush()


def stored_offset(session: Session, job_id: str, attempt: int) -> int:
    """Up to where the attempt's log is stored."""
    return session.get_one(JobAttempt, (job_id, attempt), populate_existing=True).log_offset


def _insert_events(session: Session, job: Job, events: Sequence[Event]) -> None:
    first = job.last_seq + 1
    session.execute(insert(JobEvent), [_row(job, seq, event) for seq, event in enumerate(events, first)])


def _row(job: Job, seq: int, event: Event) -> dict[str, Any]:
    data = storable(event.model_dump(mode="json", exclude={"type", "at"}))
    key = {"job_id": job.id, "seq": seq, "attempt": job.attempt, "type": event.type, "created_at": _when(event)}
    return key | {"stage": data.get("stage"), "step": data.get("step"), "data": data}


def _upsert_metrics(session: Session, job: Job, events: Sequence[Metrics]) -> None:
    """A step that was done before, by this attempt or an earlier one, is replaced."""
    # The later of two reports about one step counts.
    latest = {(event.stage, event.step): event for event in events}
    if not latest:
        return
    rows = [
        {
            "job_id": job.id,
            "stage": event.stage,
            "step": event.step,
            "attempt": job.attempt,
            "at": _when(event),
            "values": storable_numbers(event.values),
        }
        for event in latest.values()
    ]
    statement = upsert(JobMetrics)
    replaced = {name: statement.excluded[name] for name in ("attempt", "at", "values")}
    session.execute(statement.on_conflict_do_update(constraint="pk_job_metrics", set_=replaced), rows)


def _when(event: Event) -> datetime:
    return datetime.fromtimestamp(event.at, UTC)


# Reading what jobs said.
def events_after(session: Session, job_id: str, seq: int, limit: int, types: Sequence[str] = ()) -> Sequence[JobEvent]:
    """The job's events behind `seq`, in order; of `types` only, if any are named."""
    query = select(JobEvent).where(JobEvent.job_id == job_id, JobEvent.seq > seq)
    if types:
        query = query.where(JobEvent.type.in_(types))
    return session.scalars(query.order_by(JobEvent.seq).limit(limit)).all()


def samples_at(session: Session, job_id: str, stage: str | None, step: int | None) -> JobEvent | None:
    """The completions of a step; without one, those of the newest step. Said twice, after a resume, the later count."""
    query = select(JobEvent).where(JobEvent.job_id == job_id, JobEvent.type == "samples")
    if stage is not None:
        query = query.where(JobEvent.stage == stage)
    if step is not None:
        query = query.where(JobEvent.step == step)
    return session.scalars(query.order_by(JobEvent.seq.desc()).limit(1)).first()


def sample_steps(session: Session, job_id: str, stage: str | None) -> list[tuple[str, int]]:
    """Every (stage, step) that has completions, in the order in which they were first reached."""
    query = select(JobEvent.stage, JobEvent.step).where(JobEvent.job_id == job_id, JobEvent.type == "samples")
    if stage is not None:
        query = query.where(JobEvent.stage == stage)
    rows = session.execute(query.order_by(JobEvent.seq))
    return list(dict.fromkeys((str(row.stage), int(row.step or 0)) for row in rows))
