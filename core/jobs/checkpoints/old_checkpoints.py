"""Deletes old checkpoints of jobs that have ended, as `PROXIMAL_CHECKPOINT_DAYS` allows."""

from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.orm import Session, aliased

from core.blobs import BlobStore, discard
from core.db import after_commit
from core.jobs.checkpoints.checkpoints import unused
from core.jobs.lifecycle.actors import RETENTION
from core.jobs.lifecycle.removal import lock_ended
from core.jobs.run.events import append_event
from core.models import AnnotationPin, Checkpoint, CheckpointPin, Job
from core.models.jobs import TERMINAL
from trainer.events import Message

_AT_A_TIME = 100
"""Most jobs of one sweep."""
_GIB = 2**30


def jobs_with_old_checkpoints(session: Session, days: float) -> list[str]:
    """Jobs that ended more than `days` ago and have checkpoints to delete. The caller handles each in its own transaction."""
    query = select(Checkpoint.job_id).join(Job, Job.id == Checkpoint.job_id).where(_replaceable())
    past = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, days * 86400)
    query = query.where(Job.status.in_(TERMINAL), Job.finished_at < past).distinct().order_by(Checkpoint.job_id)
    return list(session.scalars(query.limit(_AT_A_TIME)))


def delete_old_checkpoints(session: Session, blobs: BlobStore, job_id: str, days: float) -> int:
    """Delete the job's replaceable checkpoints, with an event that lists them. Returns their number.

    Results of stages and best checkpoints are kept. So is the newest checkpoint of a stage without a result, from which a
    retry continues. Raises NotFound, and JobNotEnded for a job that was retried meanwhile.
    """
    job = lock_ended(session, job_id)
    query = (
        select(Checkpoint).filter_by(job_id=job_id).where(_replaceable()).order_by(Checkpoint.stage, Checkpoint.step)
    )
    found = session.scalars(query).all()
    free = unused(session, [one.id for one in found])
    gone = [one for one in found if one.id in free]
    if not gone:
        return 0
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_(free)))
    listed = ", ".join(f"{one.stage} {one.step}" for one in gone)
    size = sum(one.bytes for one in gone) / _GIB
    text = (
        f"The platform deleted intermediate checkpoints ({listed}; {size:.3g} GiB), {days:g} days after the end of the job. "
        "The setting `PROXIMAL_CHECKPOINT_DAYS` limits how long they are kept."
    )
    append_event(session, job, Message(text=text, level="info", actor=RETENTION.as_json()))
    prefixes = [one.blob_prefix for one in gone]
    after_commit(session, lambda: discard(blobs, prefixes))
    return len(gone)


def _replaceable() -> ColumnElement[bool]:
    """Whether no retry needs the checkpoint, and no unfinished job or round has pinned it."""
    other: Any = aliased(Checkpoint)
    same = and_(
        other.job_id == Checkpoint.job_id,
        other.stage == Checkpoint.stage,
        other.seed.is_not_distinct_from(Checkpoint.seed),
    )
    later = and_(~other.best, other.path.is_not(None), other.step > Checkpoint.step)
    beaten = select(other.id).where(same, or_(other.final, later)).exists()
    pinned = [
        select(pin.checkpoint_id).where(pin.checkpoint_id == Checkpoint.id).exists()
        for pin in (CheckpointPin, AnnotationPin)
    ]
    return and_(
        or_(Checkpoint.path.is_(None), and_(~Checkpoint.final, ~Checkpoint.best, beaten)), *(~one for one in pinned)
    )
