"""metrics have seeds

Revision: 5e1d9a3c7f42, after 6f0d3a81c7b2.

Older jobs stored the metrics of their first seed, whose index is 0. Their finished seeds follow from their events. A mean of
the steps of best checkpoints is removed from their summaries, because each seed has its own.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5e1d9a3c7f42"
down_revision = "6f0d3a81c7b2"

_KEYS = {
    "job_metrics": "stage, step",
    "job_metric_chunks": "stage, level, chunk, name",
}
_FINISHED = """
INSERT INTO job_seeds (job_id, seed, seconds, summary, why_collapsed, reward_line)
SELECT DISTINCT ON (e.job_id, e.seed) e.job_id, e.seed, (e.data ->> 'seconds')::float8, e.data -> 'summary',
       e.data ->> 'why', CASE WHEN e.seed = (jobs.spec ->> 'seed')::bigint THEN jobs.reward_line END
FROM job_events e JOIN jobs ON jobs.id = e.job_id
WHERE e.type = 'seed_finished' AND e.seed IS NOT NULL
ORDER BY e.job_id, e.seed, e.seq DESC
"""
_EVENTS = """
UPDATE job_events e SET seed = (e.data ->> 'seed')::bigint
FROM jobs WHERE jobs.id = e.job_id AND coalesce((jobs.spec ->> 'seeds')::int, 1) > 1
    AND e.type IN ('checkpoint_saved', 'checkpoint_damaged', 'seed_finished') AND e.data ->> 'seed' IS NOT NULL
"""
_SUMMARIES = """
UPDATE jobs SET summary = summary - 'best_step'
WHERE summary ? 'best_step' AND coalesce((spec ->> 'seeds')::int, 1) > 1
"""


def upgrade() -> None:
    op.add_column("jobs", sa.Column("seed", sa.BigInteger()))
    op.add_column("jobs", sa.Column("seed_seconds", sa.Double()))
    op.add_column("job_events", sa.Column("seed", sa.BigInteger()))
    op.create_index(
        "ix_job_events_seeds",
        "job_events",
        ["job_id", "seed", "seq"],
        postgresql_where=sa.text("seed IS NOT NULL"),
    )
    for table, rest in _KEYS.items():
        op.add_column(table, sa.Column("seed_index", sa.SmallInteger(), server_default="0", nullable=False))
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT pk_{table}")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY (job_id, seed_index, {rest})")
    jsonb = postgresql.JSONB(astext_type=sa.Text())
    op.create_table(
        "job_seeds",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("stage", sa.Text()),
        sa.Column("step", sa.BigInteger()),
        sa.Column("total_steps", sa.BigInteger()),
        sa.Column("latest_metrics", jsonb, server_default=sa.text("'{}'"), nullable=False),
        sa.Column("reward_line", jsonb),
        sa.Column("seconds", sa.Double()),
        sa.Column("summary", jsonb),
        sa.Column("why_collapsed", sa.Text()),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_seeds_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "seed", name=op.f("pk_job_seeds")),
    )
    op.execute(_EVENTS)
    op.execute(_FINISHED)
    op.execute(_SUMMARIES)


def downgrade() -> None:
    """The metrics of other seeds than the first are lost."""
    op.drop_table("job_seeds")
    for table, rest in _KEYS.items():
        op.execute(f"DELETE FROM {table} WHERE seed_index > 0")
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT pk_{table}")
        op.drop_column(table, "seed_index")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY (job_id, {rest})")
    op.drop_index("ix_job_events_seeds", "job_events")
    op.drop_column("job_events", "seed")
    op.drop_column("jobs", "seed_seconds")
    op.drop_column("jobs", "seed")
