"""metrics have roll-ups

Revision: a9c3e6f1d208, after b3d8f1a6c720.

The roll-ups, the latest metrics and the sparkline of existing jobs are made here, job by job. A job of a million steps with
40 metrics takes some minutes.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "a9c3e6f1d208"
down_revision = "b3d8f1a6c720"

_WINDOW = 1 << 16
"""Steps of job_metrics that one statement reads: a multiple of the 128 steps of the finest chunk."""
_ROLL_UP = """
INSERT INTO job_metric_chunks (job_id, stage, level, chunk, name, steps, last, min, max, mean, n)
SELECT :job_id, :stage, :level, bucket >> 5, name,
       array_agg(step ORDER BY bucket), array_agg(last ORDER BY bucket), array_agg(min ORDER BY bucket),
       array_agg(max ORDER BY bucket), array_agg(mean ORDER BY bucket), array_agg(n ORDER BY bucket)
FROM (
    SELECT name, step >> :bits AS bucket, max(step) AS step, (array_agg(last ORDER BY step DESC))[1] AS last,
           min(min) AS min, max(max) AS max, sum(n)::bigint AS n,
           sum(CASE WHEN abs(mean) < 1e-290 THEN 0 ELSE greatest(least(mean, 1e308), -1e308) * (n / :share) END)
               * (:share / sum(n)::float8) AS mean
    FROM ({points}) AS points
    GROUP BY name, bucket
) AS buckets
GROUP BY bucket >> 5, name
"""
_FROM_ROWS = _ROLL_UP.format(
    points="""
    SELECT name, step, value AS last, value AS min, value AS max, value AS mean, 1::float8 AS n
    FROM (SELECT one.key AS name, step, one.value::float8 AS value
          FROM job_metrics m CROSS JOIN LATERAL jsonb_each(m.values) AS one
          WHERE job_id = :job_id AND stage = :stage AND step >= :first AND step < :end) AS stored"""
)
_FROM_FINER = _ROLL_UP.format(
    points="""
    SELECT name, bucket.step, bucket.last, bucket.min, bucket.max, bucket.mean, bucket.n::float8 AS n
    FROM job_metric_chunks CROSS JOIN LATERAL unnest(steps, last, min, max, mean, n)
         AS bucket (step, last, min, max, mean, n)
    WHERE job_id = :job_id AND stage = :stage AND level = :level - 1 AND chunk < :end >> :finer_bits"""
)
_STAGES = """
SELECT job.id, stage.name, newest.step
FROM jobs job CROSS JOIN unnest(ARRAY['sft', 'reward_model', 'dpo', 'kto', 'ppo', 'evaluation']) AS stage (name)
     CROSS JOIN LATERAL (SELECT step FROM job_metrics WHERE job_id = job.id AND stage = stage.name
                         ORDER BY step DESC LIMIT 1) AS newest
"""
_LATEST = """
UPDATE jobs SET latest_metrics = coalesce((
    SELECT jsonb_object_agg(one.key, one.value ORDER BY newest.step)
    FROM (SELECT step, "values" FROM job_metrics WHERE job_id = jobs.id AND stage = jobs.stage
          ORDER BY step DESC LIMIT 100) AS newest
         CROSS JOIN LATERAL jsonb_each(newest.values) AS one), '{}')
"""
_SCORES = """
SELECT step, (m.values ->> 'objective/scores')::float8 AS value FROM job_metrics m
WHERE job_id = :job_id AND stage = 'ppo' AND m.values ? 'objective/scores' ORDER BY step
"""


def upgrade() -> None:
    op.create_table(
        "job_metric_chunks",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("level", sa.SmallInteger(), nullable=False),
        sa.Column("chunk", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("steps", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        *(sa.Column(name, postgresql.ARRAY(sa.Double()), nullable=False) for name in ("last", "min", "max", "mean")),
        sa.Column("n", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_metric_chunks_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "stage", "level", "chunk", "name", name=op.f("pk_job_metric_chunks")),
    )
    json = postgresql.JSONB(none_as_null=True)
    op.add_column("jobs", sa.Column("latest_metrics", json, server_default=sa.text("'{}'"), nullable=False))
    op.add_column("jobs", sa.Column("reward_line", json, nullable=True))
    op.create_index("ix_job_events_types", "job_events", ["job_id", "type", "seq"])
    op.create_index(op.f("ix_jobs_owner_id_status_created_at_id"), "jobs", ["owner_id", "status", "created_at", "id"])
    _fill(op.get_bind())


def downgrade() -> None:
    op.drop_index(op.f("ix_jobs_owner_id_status_created_at_id"), table_name="jobs")
    op.drop_index("ix_job_events_types", table_name="job_events")
    op.drop_column("jobs", "reward_line")
    op.drop_column("jobs", "latest_metrics")
    op.drop_table("job_metric_chunks")


def _fill(connection: sa.Connection) -> None:
    connection.execute(sa.text(_LATEST))
    for job_id, stage, newest in connection.execute(sa.text(_STAGES)).all():
        _roll_up(connection, job_id, stage, newest)
        if stage == "ppo":
            _draw(connection, job_id)


def _roll_up(connection: sa.Connection, job_id: str, stage: str, newest: int) -> None:
    """Write the chunks of every level that end at or before the newest step."""
    level, key = 1, {"job_id": job_id, "stage": stage}
    while (end := newest >> (5 + 2 * level) << (5 + 2 * level)) > 0:
        span = {"level": level, "bits": 2 * level, "share": float(4**level), "end": end}
        if level == 1:
            for first in _windows(connection, key, end):
                window = {"first": first, "end": min(first + _WINDOW, end)}
                connection.execute(sa.text(_FROM_ROWS), key | span | window)
        else:
            connection.execute(sa.text(_FROM_FINER), key | span | {"finer_bits": 5 + 2 * (level - 1)})
        level += 1


def _windows(connection: sa.Connection, key: dict[str, Any], end: int) -> Iterator[int]:
    """The first steps of the windows that have rows before `end`."""
    next_step = sa.text(
        "SELECT step FROM job_metrics WHERE job_id = :job_id AND stage = :stage AND step >= :first ORDER BY step LIMIT 1"
    )
    first = 0
    while (step := connection.scalar(next_step, key | {"first": first})) is not None and step < end:
        first = step // _WINDOW * _WINDOW
        yield first
        first += _WINDOW


def _draw(connection: sa.Connection, job_id: str) -> None:
    """Store the means of the rewards in at most 60 buckets, whose width is a power of two."""
    bits, buckets = 0, list[list[Any]]()
    streamed = {"yield_per": 10_000}
    with connection.execute(sa.text(_SCORES), {"job_id": job_id}, execution_options=streamed) as rows:
        for step, value in rows:
            _add(buckets, step >> bits, value, 1)
            while len(buckets) > 60:
                finer, buckets, bits = buckets, [], bits + 1
                for bucket, mean, n in finer:
                    _add(buckets, bucket >> 1, mean, n)
    if buckets:
        line = sa.bindparam("line", {"bits": bits, "buckets": buckets}, postgresql.JSONB())
        connection.execute(
            sa.text("UPDATE jobs SET reward_line = :line WHERE id = :id").bindparams(line), {"id": job_id}
        )


def _add(buckets: list[list[Any]], bucket: int, value: float, n: int) -> None:
    if buckets and buckets[-1][0] == bucket:
        _, mean, before = buckets[-1]
        count = before + n
        buckets[-1][1:] = [mean * (before / count) + value * (n / count), count]
    else:
        buckets.append([bucket, value, n])
