"""Appends and reads the events of a job."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Text, func, select, text, true, tuple_
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.orm import Session, aliased

from core.db import storable_message, storable_numbers
from core.jobs.lifecycle import actors
from core.jobs.lifecycle.attempts import held
from core.jobs.lifecycle.state import change_status
from core.jobs.run.findings import record_findings
from core.jobs.run.metric_log import store_metrics
from core.jobs.run.progress import apply_event
from core.jobs.run.seeds import apply_to_seed, started_seeds
from core.live import announce
from core.models import Job, JobAttempt, JobEvent
from core.models.jobs import JobStatus
from data.parse import storable
from trainer.events import Event, Message, Metrics, RunStarted

_INSERT = text("""
INSERT INTO job_events (job_id, seq, attempt, type, created_at, seed, stage, step, data)
SELECT :job_id, :last_seq + number, :attempt, type, created_at, seed, stage, step, stored::jsonb
FROM ROWS FROM (
    unnest(CAST(:types AS text[]), CAST(:times AS timestamptz[]), CAST(:seeds AS bigint[]), CAST(:stages AS text[]),
           CAST(:steps AS bigint[])),
    json_array_elements(CAST(:data AS json))
) WITH ORDINALITY AS row (type, created_at, seed, stage, step, stored, number)
""")
"""All events of a batch in one statement. The data is one JSON text: quoting it as an array takes longer than all the rest."""


SEED_IN_DATA = ("checkpoint_saved", "checkpoint_damaged", "seed_finished")
"""Types of events whose data also has the seed, where clients of older versions read it."""


def append_events(
    session: Session, job_id: str, attempt: int, events: Sequence[Event], log_offset: int | None = None
) -> int:
    """Store a batch of the trainer's events under the next sequence numbers. Returns the last number.

    `log_offset` is the end of the batch in the trainer's log, in bytes. The worker reads it back when it cannot know whether
    a commit succeeded.

    The job's row is locked until the commit. So the events of a job become visible in the order of their numbers, and a
    cursor never skips an event that is not committed yet. Raises LeaseLost, and ValueError for a seed that the job does not have.
    """
    job = held(session, job_id, attempt)
    if job.status == JobStatus.STARTING and any(isinstance(event, RunStarted) for event in events):
        change_status(session, job, JobStatus.RUNNING, "The trainer has started.", actors.worker(job.worker_id))
    if events:
        events = [_storable(event) for event in events]
        _insert_events(session, job, events)
        seeds = started_seeds(session, job, events)
        store_metrics(session, job, [event for event in events if isinstance(event, Metrics)], seeds)
        for event in events:
            apply_event(job, event)
            apply_to_seed(session, job, event, seeds)
        record_findings(session, job, events)
        job.last_seq += len(events)
        session.flush()
    if log_offset is not None:
        session.get_one(JobAttempt, (job_id, attempt)).log_offset = log_offset
    return job.last_seq


def note_waiting(session: Session, job_id: str, attempt: int, reason: str | None) -> None:
    """Store why a claimed job waits in the queue of its worker's cluster, and append it as a message; None: it waits no more.

    Raises LeaseLost.
    """
    job = held(session, job_id, attempt)
    job.waits_because = None if reason is None else storable_message(reason)
    if reason is not None:
        append_event(session, job, Message(text=storable_message(reason), actor=actors.worker(job.worker_id).as_json()))
    session.flush()


def append_event(session: Session, job: Job, event: Event) -> None:
    """Append an event of the platform itself. The caller has locked or created the job."""
    session.flush()  # the job's row comes first
    _insert_events(session, job, [event])
    record_findings(session, job, [event])
    job.last_seq += 1
    session.flush()


def stored_offset(session: Session, job_id: str, attempt: int) -> int:
    """The end of the stored part of the attempt's log, in bytes."""
    return session.get_one(JobAttempt, (job_id, attempt), populate_existing=True).log_offset


def _insert_events(session: Session, job: Job, events: Sequence[Event]) -> None:
    rows = [_row(event) for event in events]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    session.execute(
        _INSERT,
        {"job_id": job.id, "attempt": job.attempt, "last_seq": job.last_seq}
        | columns
        | {"data": json.dumps(columns["data"])},
    )
    announce(session, job.id, job.last_seq + len(events))


def _row(event: Event) -> dict[str, Any]:
    exclude = {"type", "at"} if event.type in SEED_IN_DATA else {"type", "at", "seed"}
    data = event.model_dump(mode="json", exclude=exclude)
    if not isinstance(event, Metrics):
        data = storable(data)
    key = {
        "types": event.type,
        "times": _when(event),
        "seeds": event.seed,
        "stages": data.get("stage"),
        "steps": data.get("step"),
    }
    return key | {"data": data}


def _storable(event: Event) -> Event:
    """The event; metrics without the values that PostgreSQL cannot store."""
    if not isinstance(event, Metrics):
        return event
    return event.model_copy(update={"values": storable_numbers(event.values)})


def _when(event: Event) -> datetime:
    return datetime.fromtimestamp(event.at, UTC)


def events_after(
    session: Session,
    job_id: str,
    seq: int,
    limit: int,
    types: Sequence[str] = (),
    seed: int | None = None,
    step: int | None = None,
) -> Sequence[JobEvent]:
    """At most `limit` events of the job after number `seq`, in order. `types`: only events of these types.

    `seed`: only events of this seed, in a job with several seeds. `step`: only events of this step of a stage.
    """
    query = select(JobEvent).where(JobEvent.job_id == job_id).limit(limit)
    if seed is not None:
        query = query.where(JobEvent.seed == seed)
    if step is not None:
        query = query.where(JobEvent.step == step)
    if not types:
        return session.scalars(query.where(JobEvent.seq > seq).order_by(JobEvent.seq)).all()
    # The first events of each type are read by its index. A condition on the types would read all events before a rare one.
    wanted = func.unnest(array(dict.fromkeys(types), type_=Text)).table_valued("type").render_derived(name="wanted")
    # A range of one type instead of an equality: the order by type and number is then that of the index on types alone.
    # With an equality PostgreSQL may walk through the whole job by its primary key, and for an absent type it does.
    of_type = query.where(
        tuple_(JobEvent.type, JobEvent.seq) > tuple_(wanted.c.type, seq), JobEvent.type <= wanted.c.type
    )
    first = of_type.order_by(JobEvent.type, JobEvent.seq).lateral("first")
    event = aliased(JobEvent, first)
    return session.scalars(select(event).select_from(wanted.join(first, true())).order_by(event.seq).limit(limit)).all()


def news_of(
    session: Session, cursors: Mapping[str, int], limit: int
) -> dict[str, tuple[JobStatus, int, list[JobEvent]]]:
    """Status, number of the last event, and at most `limit` events after the cursor, for each job that exists. One query."""
    pairs = func.unnest(array(cursors, type_=Text), array(cursors.values(), type_=BigInteger))
    watched = pairs.table_valued("job_id", "seq").render_derived(name="watched")
    later = select(JobEvent).where(JobEvent.job_id == watched.c.job_id, JobEvent.seq > watched.c.seq)
    event = aliased(JobEvent, later.order_by(JobEvent.seq).limit(limit).lateral("later"))
    query = select(Job.id, Job.status, Job.last_seq, event).select_from(watched).join(Job, Job.id == watched.c.job_id)
    news: dict[str, tuple[JobStatus, int, list[JobEvent]]] = {}
    for job_id, status, last_seq, row in session.execute(query.outerjoin(event, true()).order_by(Job.id, event.seq)):
        rows = news.setdefault(job_id, (JobStatus(status), last_seq, []))[2]
        if row is not None:
            rows.append(row)
    return news
