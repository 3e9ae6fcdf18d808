"""Stores the metrics of steps, with their roll-ups and the job's sparkline."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

from core.jobs import rollups, sparkline
from core.jobs.metrics import MetricQuery, series
from core.jobs.sparkline import Sparkline
from core.models import Job, JobMetrics
from trainer.events import Metrics

_PRECISE = 4 * sparkline.POINTS
"""Buckets from which a sparkline is made again: never wider than its own."""

_INSERT = text("""
INSERT INTO job_metrics (job_id, stage, step, attempt, at, "values")
SELECT :job_id, :stage, step, :attempt, at, stored::jsonb
FROM ROWS FROM (
    unnest(CAST(:steps AS bigint[]), CAST(:times AS timestamptz[])), json_array_elements(CAST(:values AS json))
) AS row (step, at, stored)
""")


def store_metrics(session: Session, job: Job, events: Sequence[Metrics]) -> None:
    """Store the metrics of a batch, whose values PostgreSQL can store. The caller has locked the job's row.

    A run that resumes repeats steps. A step that comes again replaces its metrics and those of all later steps of the stage,
    which the run has lost. Within a batch, the later event counts.
    """
    stages: dict[str, list[Metrics]] = {}
    for event in events:
        kept = stages.setdefault(event.stage, [])
        while kept and kept[-1].step >= event.step:
            kept.pop()
        kept.append(event)
    for stage, kept in stages.items():
        _append(session, job, stage, kept)


def _append(session: Session, job: Job, stage: str, events: Sequence[Metrics]) -> None:
    """Store steps of one stage in ascending order."""
    first, newest = events[0].step, events[-1].step
    where = (JobMetrics.job_id == job.id, JobMetrics.stage == stage)
    stored = session.scalar(select(func.max(JobMetrics.step)).where(*where))
    repeated = stored is not None and stored >= first
    if repeated:
        session.execute(delete(JobMetrics).where(*where, JobMetrics.step >= first))
        rollups.drop_from(session, job.id, stage, first)
    session.execute(_INSERT, {"job_id": job.id, "stage": stage, "attempt": job.attempt} | _columns(events))
    rollups.roll_up(session, job.id, stage, first if repeated or stored is None else stored, newest)
    if stage == sparkline.STAGE:
        _draw(session, job, events, repeated)


def _draw(session: Session, job: Job, events: Sequence[Metrics], repeated: bool) -> None:
    """Add the events to the sparkline. After a rewind it is made again from the stored steps."""
    line = Sparkline.stored(None if repeated else job.reward_line)
    if repeated:
        wanted = MetricQuery(sparkline.STAGE, [sparkline.NAME], max_points=_PRECISE)
        for one in series(session, job.id, wanted)[0]:
            for step, mean, n in zip(one.steps, one.mean, one.n, strict=True):
                line.add(step, mean, n)
    else:
        for event in events:
            if (value := event.values.get(sparkline.NAME)) is not None:
                line.add(event.step, value)
    job.reward_line = line.as_column()


def _columns(events: Sequence[Metrics]) -> dict[str, object]:
    """The rows as one array for each column, for one statement."""
    return {
        "steps": [event.step for event in events],
        "times": [datetime.fromtimestamp(event.at, UTC) for event in events],
        "values": json.dumps([event.values for event in events]),
    }
