"""Deletes the exact steps of the metrics of jobs that ended long ago, as `PROXIMAL_METRIC_DAYS` allows.

The roll-ups stay, so charts have buckets of 4 steps instead of steps. The newest steps, which no roll-up has yet, stay too.
A job that may run again also keeps the steps from which it would write the roll-ups again after a checkpoint.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, or_, select, text
from sqlalchemy.orm import Session

from core.jobs.lifecycle.actors import METRIC_RETENTION
from core.jobs.lifecycle.removal import lock_ended
from core.jobs.run.events import append_event
from core.jobs.run.rollups import FINEST, bucket_bits, chunk_bits, complete_until
from core.jobs.run.seeds import index_of, seeds_of
from core.models import Checkpoint, Job, JobMetricChunk, JobMetrics
from core.models.jobs import TERMINAL, JobStatus
from trainer.events import Message

_AT_A_TIME = 100
"""Most jobs of one sweep."""
_GONE = "stage = :stage AND step < :until AND NOT (step >> :bits) = ANY(CAST(:kept AS bigint[]))"
_STEPS = text(f"DELETE FROM job_metrics WHERE job_id = :job_id AND seed_index = :index AND {_GONE}")
_EVENTS = text(
    "DELETE FROM job_events WHERE job_id = :job_id AND type = 'metrics' "
    f"AND seed IS NOT DISTINCT FROM CAST(:seed AS bigint) AND {_GONE}"
)
_CARDS = text(
    "DELETE FROM job_events WHERE job_id = :job_id AND type = 'critic_card' AND (step & :last) <> :last "
    f"AND seed IS NOT DISTINCT FROM CAST(:seed AS bigint) AND {_GONE}"
)
"""The last card of each bucket stays: at its step the charts have the bucket."""


@dataclass(frozen=True)
class _Part:
    """The steps of one seed and stage: those before `until` go, except those of the chunks in `kept`."""

    index: int
    seed: int | None
    stage: str
    until: int
    kept: tuple[int, ...]


def jobs_with_old_metrics(session: Session, days: float, after: str = "") -> list[str]:
    """Jobs after this id that ended more than `days` ago, have roll-ups and were not thinned since their end, by id.

    The caller handles each in its own transaction.
    """
    past = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, days * 86400)
    rolled_up = select(JobMetricChunk.job_id).where(JobMetricChunk.job_id == Job.id).exists()
    untouched = or_(Job.metrics_thinned_at.is_(None), Job.metrics_thinned_at < Job.finished_at)
    query = select(Job.id).where(Job.status.in_(TERMINAL), Job.finished_at < past, untouched, rolled_up)
    return list(session.scalars(query.where(Job.id > after).order_by(Job.id).limit(_AT_A_TIME)))


def thin_metrics(session: Session, job_id: str, days: float) -> int:
    """Delete the exact steps of the job that its roll-ups have, with their events, and append an event about it.

    One critic card for each bucket of the roll-ups stays.

    Returns the number of steps. Nothing changes if a retry may need all of them. Raises NotFound, and JobNotEnded for a job
    that was retried meanwhile.
    """
    job = lock_ended(session, job_id)
    deleted = 0
    for part in _parts(session, job):
        values = {
            "job_id": job.id,
            "index": part.index,
            "seed": part.seed,
            "stage": part.stage,
            "until": part.until,
            "kept": list(part.kept),
            "bits": chunk_bits(FINEST),
        }
        deleted += session.execute(_STEPS, values).rowcount  # type: ignore[attr-defined]
        session.execute(_EVENTS, values)
        session.execute(_CARDS, values | {"last": (1 << bucket_bits(FINEST)) - 1})
    if not deleted:
        return 0
    job.metrics_thinned_at = datetime.now(UTC)
    said = (
        f"The platform thinned the metrics, {days:g} days after the end of the job: charts have buckets of {1 << bucket_bits(FINEST)} "
        f"steps, and the exact values of {deleted:,} steps are deleted. Each bucket keeps one critic card. The setting `PROXIMAL_METRIC_DAYS` limits how long they are kept."
    )
    append_event(session, job, Message(text=said, level="info", actor=METRIC_RETENTION.as_json()))
    return deleted


def _parts(session: Session, job: Job) -> list[_Part]:
    newest = (
        select(JobMetrics.seed_index, JobMetrics.stage, func.max(JobMetrics.step))
        .where(JobMetrics.job_id == job.id)
        .group_by(JobMetrics.seed_index, JobMetrics.stage)
    )
    several, needed = seeds_of(job), _next_steps(session, job)
    parts = []
    for index, stage, last in session.execute(newest):
        until, kept = complete_until(FINEST, last), []
        if job.status != JobStatus.SUCCEEDED:
            steps = needed.get((index, stage), [0])
            until = complete_until(FINEST, min(last, max(steps)))
            kept = [step >> chunk_bits(FINEST) for step in steps]
        seed = several[index] if len(several) > 1 else None
        parts.append(_Part(index, seed, stage, until, tuple(kept)))
    return parts


def _next_steps(session: Session, job: Job) -> dict[tuple[int, str], list[int]]:
    """The steps with which a retry can begin, by index of the seed and stage: those after each checkpoint."""
    found: dict[tuple[int, str], list[int]] = {}
    stored = select(Checkpoint.seed, Checkpoint.stage, Checkpoint.step).filter_by(job_id=job.id)
    for seed, stage, step in session.execute(stored):
        found.setdefault((index_of(job, seed), stage), []).append(step + 1)
    return found
