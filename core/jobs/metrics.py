"""Reads the metrics of jobs as series, exact or in buckets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import text
from sqlalchemy.orm import Session

from trainer.spec import STAGES


@dataclass(frozen=True)
class MetricQuery:
    """A selection of metrics. Empty `names`: all. A series with more than `max_points` points is put into buckets."""

    stage: str | None = None
    names: Sequence[str] = ()
    from_step: int | None = None
    to_step: int | None = None
    max_points: int = 1000


@dataclass
class Series:
    """One metric of one stage.

    In buckets, `steps` holds the last step of each bucket, `last` its value, and `n` the number of points in the bucket.
    """

    stage: str
    name: str
    bucketed: bool
    steps: list[int] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    min: list[float] = field(default_factory=list)
    max: list[float] = field(default_factory=list)
    n: list[int] = field(default_factory=list)


# One statement reads one snapshot, so `last_seq` is the last event that these numbers contain.
# Buckets divide the range of steps evenly, so that the x axis of a chart stays linear. Minimum and maximum keep every spike.
_SERIES = text("""
WITH points AS (
    SELECT m.stage, value.key AS name, m.step, value.value::float8 AS value
    FROM job_metrics m CROSS JOIN LATERAL jsonb_each_text(m.values) AS value
    WHERE m.job_id = :job_id
      AND (CAST(:stage AS text) IS NULL OR m.stage = :stage)
      AND (cardinality(CAST(:names AS text[])) = 0 OR value.key = ANY(:names))
      AND (CAST(:from_step AS bigint) IS NULL OR m.step >= :from_step)
      AND (CAST(:to_step AS bigint) IS NULL OR m.step <= :to_step)
), spans AS (
    SELECT stage, name, count(*) > :max_points AS bucketed, min(step) AS first_step, max(step) AS last_step
    FROM points GROUP BY stage, name
), buckets AS (
    SELECT stage, name, bucketed, max(step) AS step, (array_agg(value ORDER BY step DESC))[1] AS last,
           min(value) AS min, max(value) AS max, count(*) AS n
    FROM points JOIN spans USING (stage, name)
    GROUP BY stage, name, bucketed,
             CASE WHEN bucketed THEN width_bucket(step, first_step, last_step + 1, CAST(:max_points AS int)) ELSE step END
)
SELECT jobs.last_seq, buckets.*
FROM jobs LEFT JOIN buckets ON true
WHERE jobs.id = :job_id
ORDER BY stage, name, step
""")

# The mean of each of 60 equal parts, or the points themselves if they are fewer.
_SPARKLINES = text("""
WITH points AS (
    SELECT job_id, step, (m.values ->> :name)::float8 AS value,
           row_number() OVER jobs - 1 AS position, count(*) OVER (PARTITION BY job_id) AS total
    FROM job_metrics m
    WHERE job_id = ANY(:job_ids) AND stage = :stage AND m.values ? :name
    WINDOW jobs AS (PARTITION BY job_id ORDER BY step)
)
SELECT job_id, avg(value) AS value
FROM points
GROUP BY job_id, position * :points / greatest(total, :points)
ORDER BY job_id, min(step)
""")
SPARKLINE = {"stage": "ppo", "name": "objective/scores", "points": 60}


def series(session: Session, job_id: str, wanted: MetricQuery) -> tuple[list[Series], int]:
    """The series by stage and name, and the sequence number of the last event that they contain."""
    found: dict[tuple[str, str], Series] = {}
    last_seq = 0
    for row in session.execute(_SERIES, {"job_id": job_id, **vars(wanted), "names": list(wanted.names)}):
        last_seq = row.last_seq
        if row.stage is None:
            continue
        one = found.setdefault((row.stage, row.name), Series(row.stage, row.name, row.bucketed))
        one.steps.append(row.step)
        one.last.append(row.last)
        one.min.append(row.min)
        one.max.append(row.max)
        one.n.append(row.n)
    return sorted(found.values(), key=lambda one: (STAGES.index(one.stage), one.name)), last_seq


def sparklines(session: Session, job_ids: Sequence[str]) -> dict[str, list[float]]:
    """The mean reward of each job over its PPO steps, in at most 60 numbers."""
    lines: dict[str, list[float]] = {job_id: [] for job_id in job_ids}
    for row in session.execute(_SPARKLINES, {"job_ids": list(job_ids), **SPARKLINE}):
        lines[row.job_id].append(row.value)
    return lines
