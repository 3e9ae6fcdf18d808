"""Keeps what a job's events report about its health: one row for each seed and rule, and for each warning."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.models import Job, JobFinding, Severity
from core.models.base import new_id
from core.webhooks import outbox
from core.webhooks.event_types import EventType, finding_data
from data.parse import storable
from trainer.events import Event, Health, Message

_GRAVEST_FIRST = (Severity.ERROR, Severity.WARNING)


def record_findings(session: Session, job: Job, events: Sequence[Event]) -> None:
    """Store what the events report. The caller has locked or created the job."""
    for event in events:
        if isinstance(event, Health):
            _record_rule(session, job, event)
        elif isinstance(event, Message) and event.level != "info":
            _record_message(session, job, event)


def _record_rule(session: Session, job: Job, event: Health) -> None:
    row = _row(session, job, event, event.rule)
    before = row.severity if row.times else None
    row.rule, row.stage, row.action = event.rule, event.stage, event.action
    if row.step is None or event.step > row.step:  # a repeated step counts once
        row.times += 1
        row.step = event.step
    stored = storable(event.model_dump(mode="json", include={"cause", "suggestion", "evidence", "changes"}))
    row.cause, row.suggestion = stored.pop("cause"), stored.pop("suggestion")
    row.data = stored
    _raise_severity(job, row, Severity.WARNING if event.action == "warn" else Severity.ERROR)
    _send(session, job, row, before)


def _record_message(session: Session, job: Job, event: Message) -> None:
    text: str = storable(event.text)
    row = _row(session, job, event, md5(text.encode(), usedforsecurity=False).hexdigest())
    before = row.severity if row.times else None
    row.cause, row.times = text, row.times + 1
    _raise_severity(job, row, Severity(event.level))
    _send(session, job, row, before)


def _send(session: Session, job: Job, row: JobFinding, before: str | None) -> None:
    """Send a finding that is new, or graver than `before`, to the webhooks that receive findings."""
    if row.severity != before:
        outbox.record(session, job.owner_id, EventType.JOB_FINDING, job.id, lambda: finding_data(job, row))


def _row(session: Session, job: Job, event: Health | Message, what: str) -> JobFinding:
    """The row of a rule or text in the seed of the event, made if it is the first such event."""
    at = datetime.fromtimestamp(event.at, UTC)
    key = f"{'' if event.seed is None else event.seed} {what}"
    row = session.scalars(select(JobFinding).filter_by(job_id=job.id, key=key)).one_or_none()
    if row is None:
        row = JobFinding(id=new_id("find"), job_id=job.id, owner_id=job.owner_id, key=key, seed=event.seed)
        row.severity, row.suggestion, row.times, row.created_at, row.data = Severity.WARNING, "", 0, at, {}
        session.add(row)
    row.last_at = at
    return row


def _raise_severity(job: Job, row: JobFinding, severity: Severity) -> None:
    row.severity = _gravest(row.severity, severity)
    job.health = _gravest(job.health, severity)


def _gravest(before: str | None, now: Severity) -> Severity:
    return next(one for one in _GRAVEST_FIRST if one in (before, now))
