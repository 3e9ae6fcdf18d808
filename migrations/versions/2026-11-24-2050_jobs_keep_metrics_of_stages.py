"""jobs keep the last metrics of their earlier stages, and groups have a goal

The metrics of stored jobs are those of the last step of each stage but the current one. Jobs with several seeds have the mean
over the seeds that came to their end.

Revision: b3e5d20c7a18, after 3c7f5e0d91ab.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "b3e5d20c7a18"
down_revision = "3c7f5e0d91ab"

_STAGES = (
    "unnest(ARRAY['sft', 'reward_model', 'dpo', 'kto', 'ppo', 'evaluation']) WITH ORDINALITY AS stage (name, place)"
)
_LAST_STEPS = f"""
SELECT jsonb_object_agg(one.key, one.value ORDER BY stage.place)
FROM {_STAGES}
CROSS JOIN LATERAL (
    SELECT m.values FROM job_metrics m WHERE job_id = {{job}} AND seed_index = {{seed}} AND m.stage = stage.name
    ORDER BY step DESC LIMIT 1) AS newest
CROSS JOIN LATERAL jsonb_each(newest.values) AS one
WHERE stage.name IS DISTINCT FROM {{current}}
"""
_OF_SEED = _LAST_STEPS.format(
    job="job.id", seed="(job_seeds.seed - (job.spec ->> 'seed')::bigint)", current="job_seeds.stage"
)
_OF_JOB = _LAST_STEPS.format(job="jobs.id", seed="0", current="jobs.stage")
_OF_SEEDS = f"""
UPDATE job_seeds SET earlier_metrics = coalesce(({_OF_SEED}), '{{}}') FROM jobs job WHERE job.id = job_seeds.job_id
"""
_OF_JOBS = f"""
UPDATE jobs SET earlier_metrics = coalesce(({_OF_JOB}), '{{}}')
WHERE stage IS NOT NULL AND NOT EXISTS (SELECT FROM job_seeds WHERE job_id = jobs.id)
"""
_MEANS = """
UPDATE jobs SET earlier_metrics = coalesce((
    SELECT jsonb_object_agg(mean.name, mean.value) FROM (
        SELECT one.key AS name, avg(one.value::text::float8) AS value
        FROM job_seeds seed CROSS JOIN LATERAL jsonb_each(seed.earlier_metrics) AS one
        WHERE seed.job_id = jobs.id AND seed.summary IS NOT NULL AND seed.summary <> '{}'
          AND one.key NOT IN ('eval/best_step', 'best_step') AND one.key !~ '_(low|high)$'
        GROUP BY one.key) AS mean), '{}')
WHERE EXISTS (SELECT FROM job_seeds WHERE job_id = jobs.id)
"""


def upgrade() -> None:
    for table in ("jobs", "job_seeds"):
        op.add_column(table, sa.Column("earlier_metrics", JSONB(), server_default=sa.text("'{}'"), nullable=False))
    op.add_column("job_groups", sa.Column("goal", sa.Text(), server_default="maximize", nullable=False))
    op.create_check_constraint(op.f("ck_job_groups_goal"), "job_groups", "goal IN ('maximize', 'minimize')")
    for statement in (_OF_SEEDS, _OF_JOBS, _MEANS):
        op.execute(statement)


def downgrade() -> None:
    op.drop_constraint(op.f("ck_job_groups_goal"), "job_groups")
    op.drop_column("job_groups", "goal")
    for table in ("jobs", "job_seeds"):
        op.drop_column(table, "earlier_metrics")
