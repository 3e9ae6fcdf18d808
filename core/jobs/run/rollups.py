"""Roll-ups of metrics: buckets of fixed widths, made as steps arrive, so that a chart reads about as many points as it draws.

A bucket of level `l` spans 4^l steps, and a chunk holds 32 buckets of one metric. A chunk is written once, when the first step
after its end is stored: level 1 from the rows of `job_metrics`, each other level from the level below. So for the newest
step `s` of a stage, level `l` is complete for the steps before `complete_until(l, s)`.
"""

from sqlalchemy import text
from sqlalchemy.orm import Session

FINEST = 1
"""The finest level. Level 0 is the exact steps."""
FACTOR_BITS = 2
CHUNK_BITS = 5


def bucket_bits(level: int) -> int:
    """log2 of the width of a bucket in steps."""
    return FACTOR_BITS * level


def chunk_bits(level: int) -> int:
    """log2 of the width of a chunk in steps."""
    return CHUNK_BITS + bucket_bits(level)


def complete_until(level: int, newest_step: int) -> int:
    """The end of the level's newest chunk: the chunks hold all steps before it, and none from it on."""
    return newest_step >> chunk_bits(level) << chunk_bits(level)


# A mean is the sum of weighted parts: a plain sum of large values would overflow. PostgreSQL raises an error when a product
# becomes 0, so values near 0 count as 0. `:share` is the largest number of points of a bucket.
_ROLL_UP = f"""
INSERT INTO job_metric_chunks (job_id, seed_index, stage, level, chunk, name, steps, last, min, max, mean, n)
SELECT :job_id, :seed, :stage, :level, bucket >> {CHUNK_BITS}, name,
       array_agg(step ORDER BY bucket), array_agg(last ORDER BY bucket), array_agg(min ORDER BY bucket),
       array_agg(max ORDER BY bucket), array_agg(mean ORDER BY bucket), array_agg(n ORDER BY bucket)
FROM (
    SELECT name, step >> :bucket_bits AS bucket, max(step) AS step, (array_agg(last ORDER BY step DESC))[1] AS last,
           min(min) AS min, max(max) AS max, sum(n)::bigint AS n,
           sum(CASE WHEN abs(mean) < 1e-290 THEN 0 ELSE greatest(least(mean, 1e308), -1e308) * (n / :share) END)
               * (:share / sum(n)::float8) AS mean
    FROM ({{points}}) AS points
    GROUP BY name, bucket
) AS buckets
GROUP BY bucket >> {CHUNK_BITS}, name
"""
_FROM_ROWS = text(
    _ROLL_UP.format(
        points="""
        SELECT name, step, value AS last, value AS min, value AS max, value AS mean, 1::float8 AS n
        FROM (SELECT one.key AS name, step, one.value::float8 AS value
              FROM job_metrics m CROSS JOIN LATERAL jsonb_each(m.values) AS one
              WHERE job_id = :job_id AND seed_index = :seed AND stage = :stage AND step >= :first AND step < :end) AS stored"""
    )
)
_FROM_FINER = text(
    _ROLL_UP.format(
        points="""
        SELECT name, bucket.step, bucket.last, bucket.min, bucket.max, bucket.mean, bucket.n::float8 AS n
        FROM job_metric_chunks CROSS JOIN LATERAL unnest(steps, last, min, max, mean, n)
             AS bucket (step, last, min, max, mean, n)
        WHERE job_id = :job_id AND seed_index = :seed AND stage = :stage AND level = :level - 1
          AND chunk >= :first >> :finer_bits AND chunk < :end >> :finer_bits"""
    )
)
_DROP = text(f"""
DELETE FROM job_metric_chunks
WHERE job_id = :job_id AND seed_index = :seed AND stage = :stage AND chunk >= :step >> ({CHUNK_BITS} + {FACTOR_BITS} * level)
""")


def roll_up(session: Session, job_id: str, stage: str, start: int, newest_step: int, seed_index: int = 0) -> None:
    """Write the chunks of one seed that end after step `start` and at or before `newest_step`.

    The chunks that end at or before `start` must exist, and no others. The cost for each step is constant on average, since
    a level has a quarter of the buckets of the level below.
    """
    level = 1
    while (end := complete_until(level, newest_step)) > (first := complete_until(level, start)):
        bits = {"bucket_bits": bucket_bits(level), "share": float(1 << bucket_bits(level))}
        span = {"job_id": job_id, "seed": seed_index, "stage": stage, "level": level, "first": first, "end": end}
        if level == 1:
            session.execute(_FROM_ROWS, span | bits)
        else:
            session.execute(_FROM_FINER, span | bits | {"finer_bits": chunk_bits(level - 1)})
        level += 1


def drop_from(session: Session, job_id: str, stage: str, step: int, seed_index: int = 0) -> None:
    """Delete the chunks of one seed that contain the step or later ones."""
    session.execute(_DROP, {"job_id": job_id, "seed": seed_index, "stage": stage, "step": step})
