"""Stores the metrics of steps, with their roll-ups and the job's sparkline."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

from core.jobs.run import rollups, sparkline
from core.jobs.run.metrics import MetricQuery, series
from core.jobs.run.seeds import draw_mean, index_of
from core.jobs.run.sparkline import Sparkline
from core.models import Job, JobMetrics, JobSeed
from trainer.events import Metrics

_PRECISE = 4 * sparkline.POINTS
"""Buckets from which a sparkline is made again: never wider than its own."""

_INSERT = text("""
INSERT INTO job_metrics (job_id, seed_index, stage, step, attempt, at, "values")
SELECT :job_id, :seed, :stage, step, :attempt, at, stored::jsonb
FROM ROWS FROM (
    unnest(CAST(:steps AS bigint[]), CAST(:times AS timestamptz[])), json_array_elements(CAST(:values AS json))
) AS row (step, at, stored)
""")


def store_metrics(session: Session, job: Job, events: Sequence[Metrics], seeds: Mapping[int, JobSeed]) -> None:
    """Store the metrics of a batch, whose values PostgreSQL can store. The caller has locked the job's row.

    `seeds` are the rows of the events' seeds; empty for a job with one seed. A run that resumes repeats steps. A step that
    comes again replaces its metrics and those of all later steps of its seed and stage, which the run has lost. Within a
    batch, the later event counts.
    """
    stages: dict[tuple[int | None, str], list[Metrics]] = {}
    for event in events:
        kept = stages.setdefault((event.seed, event.stage), [])
        while kept and kept[-1].step >= event.step:
            kept.pop()
        kept.append(event)
    for (seed, stage), kept in stages.items():
        repeated = _append(session, job, index_of(job, seed), stage, kept)
        if stage == sparkline.STAGE:
            row = job if seed is None else seeds[seed]
            row.reward_line = _drawn(session, job, row.reward_line, index_of(job, seed), kept, repeated)
    if seeds and any(stage == sparkline.STAGE for _, stage in stages):
        draw_mean(session, job)


def _append(session: Session, job: Job, index: int, stage: str, events: Sequence[Metrics]) -> bool:
    """Store steps of one seed and stage in ascending order. Returns whether they repeat stored ones."""
    first, newest = events[0].step, events[-1].step
    where = (JobMetrics.job_id == job.id, JobMetrics.seed_index == index, JobMetrics.stage == stage)
    stored = session.scalar(select(func.max(JobMetrics.step)).where(*where))
    repeated = stored is not None and stored >= first
    if repeated:
        session.execute(delete(JobMetrics).where(*where, JobMetrics.step >= first))
        rollups.drop_from(session, job.id, stage, first, index)
    key = {"job_id": job.id, "seed": index, "stage": stage, "attempt": job.attempt}
    session.execute(_INSERT, key | _columns(events))
    rollups.roll_up(session, job.id, stage, first if repeated or stored is None else stored, newest, index)
    return repeated


def _drawn(
    session: Session, job: Job, line: dict[str, Any] | None, index: int, events: Sequence[Metrics], repeated: bool
) -> dict[str, Any] | None:
    """The sparkline of a seed with the events. After a rewind it is made again from the stored steps."""
    drawn = Sparkline.stored(None if repeated else line)
    if repeated:
        wanted = MetricQuery(sparkline.STAGE, [sparkline.NAME], max_points=_PRECISE, seeds=(index,))
        for one in series(session, job.id, wanted)[0]:
            for step, mean, n in zip(one.steps, one.mean, one.n, strict=True):
                drawn.add(step, mean, n)
    else:
        for event in events:
            if (value := event.values.get(sparkline.NAME)) is not None:
                drawn.add(event.step, value)
    return drawn.as_column()


def _columns(events: Sequence[Metrics]) -> dict[str, object]:
    """The rows as one array for each column, for one statement."""
    return {
        "steps": [event.step for event in events],
        "times": [datetime.fromtimestamp(event.at, UTC) for event in events],
        "values": json.dumps([event.values for event in events]),
    }
