"""Reading what jobs said."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.models import JobEvent


def after(session: Session, job_id: str, seq: int, limit: int, types: Sequence[str] = ()) -> Sequence[JobEvent]:
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
