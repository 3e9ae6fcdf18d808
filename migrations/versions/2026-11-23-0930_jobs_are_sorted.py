"""jobs are sorted by what the list shows

Revision: 8d27f4b1c6e9, after 6f1c2a84be03.

The progress of existing jobs follows from their plans, and the name of the key from their first events.
"""

from alembic import op

revision = "8d27f4b1c6e9"
down_revision = "6f1c2a84be03"

_ADD = """
ALTER TABLE jobs
    ADD submitted_by text,
    ADD fraction double precision,
    ADD reward double precision GENERATED ALWAYS AS ((reward_line #>> '{buckets,-1,1}')::double precision) STORED,
    ADD kl double precision
        GENERATED ALWAYS AS (coalesce(summary ->> 'kl', latest_metrics ->> 'objective/kl')::double precision) STORED,
    ADD win_rate double precision GENERATED ALWAYS AS ((summary ->> 'win_rate')::double precision) STORED
"""
_SUBMITTED_BY = """
UPDATE jobs SET submitted_by = e.data #>> '{actor,name}' FROM job_events e WHERE e.job_id = jobs.id AND e.seq = 1
"""
_FRACTION = """
UPDATE jobs SET fraction = made.fraction FROM (
    SELECT job.id,
           CASE WHEN job.seeds_done > 0 THEN job.seeds_done
                ELSE (coalesce(sum(weight) FILTER (WHERE number < here), 0)
                      + sum(weight) FILTER (WHERE number = here) * within) / sum(weight)
           END / seeds AS fraction
    FROM jobs job CROSS JOIN LATERAL (
        SELECT coalesce((spec ->> 'seeds')::float8, 1) AS seeds,
               coalesce(least(step::float8 / nullif(total_steps, 0), 1), 0) AS within,
               CASE WHEN jsonb_array_length(plan) > 0 THEN plan
                    ELSE jsonb_build_array(jsonb_build_object('stage', stage)) END AS stages
    ) AS whole CROSS JOIN LATERAL (
        SELECT number, CASE WHEN planned ->> 'stage' = 'ppo' THEN 6 ELSE 1 END AS weight,
               coalesce(min(number) FILTER (WHERE planned ->> 'stage' = job.stage) OVER (), 1) AS here
        FROM jsonb_array_elements(stages) WITH ORDINALITY AS one (planned, number)
    ) AS stage
    WHERE job.stage IS NOT NULL
    GROUP BY job.id, seeds, within
) AS made WHERE made.id = jobs.id
"""


def upgrade() -> None:
    op.execute(_ADD)
    op.execute(_SUBMITTED_BY)
    op.execute(_FRACTION)


def downgrade() -> None:
    for name in ("win_rate", "kl", "reward", "fraction", "submitted_by"):
        op.drop_column("jobs", name)
