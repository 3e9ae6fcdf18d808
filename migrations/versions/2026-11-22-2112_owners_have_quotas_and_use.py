"""owners have quotas and use, and jobs have requirements

Revision: b8d4f2e70a18, after b1d4f6a8c092.

The use of an owner begins at the migration. Running jobs count from then on.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b8d4f2e70a18"
down_revision = "b1d4f6a8c092"

ACTIVE = "('starting', 'running', 'pausing', 'cancelling')"
UNFINISHED = f"status IN ('queued', 'paused') OR status IN {ACTIVE}"
PROCESSES = "coalesce((spec #>> '{resources,processes}')::bigint, 1)"
MACHINES = "coalesce((spec #>> '{resources,machines}')::bigint, 1)"
DEVICE = "coalesce(spec #>> '{runtime,device}', 'auto')"


def upgrade() -> None:
    _extend_owners()
    _extend_jobs()
    op.add_column("job_attempts", sa.Column("slots", sa.BigInteger(), server_default="1", nullable=False))
    op.create_table(
        "queue_lines",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("requirement", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("served_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_queue_lines_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id", "priority", "requirement", name=op.f("pk_queue_lines")),
    )
    op.create_index(op.f("ix_queue_lines_served_at"), "queue_lines", ["served_at"])
    _count_what_runs()


def downgrade() -> None:
    op.drop_table("queue_lines")
    op.drop_column("job_attempts", "slots")
    op.drop_index("ix_jobs_queue", table_name="jobs")
    for name in ("requirement", "slots", "queued_at"):
        op.drop_column("jobs", name)
    op.alter_column("jobs", "priority", server_default=None)
    op.create_index("ix_jobs_queue", "jobs", ["priority", "created_at"], postgresql_where=sa.text("status = 'queued'"))
    for name in ("quotas", "running_jobs", "slots_in_use", "decayed_use", "month_use", "use_at"):
        op.drop_column("owners", name)


def _extend_owners() -> None:
    for name in ("running_jobs", "slots_in_use"):
        op.add_column("owners", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
    for name in ("decayed_use", "month_use"):
        op.add_column("owners", sa.Column(name, sa.Double(), server_default="0", nullable=False))
    now = sa.Column("use_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)
    op.add_column("owners", now)
    op.add_column("owners", _empty_object("quotas"))
    op.execute("ALTER TABLE owners SET (fillfactor = 50)")


def _extend_jobs() -> None:
    op.alter_column("jobs", "priority", server_default="0")
    op.add_column("jobs", _empty_object("requirement"))
    op.add_column("jobs", sa.Column("slots", sa.BigInteger(), server_default="1", nullable=False))
    now = sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)
    op.add_column("jobs", now)
    op.execute(
        f"""
        UPDATE jobs SET queued_at = created_at, slots = {PROCESSES} * {MACHINES}, requirement = jsonb_strip_nulls(
            jsonb_build_object('processes', nullif({PROCESSES}, 1), 'machines', nullif({MACHINES}, 1),
                'device', nullif({DEVICE}, 'auto')))
        WHERE {UNFINISHED}
        """
    )
    op.drop_index("ix_jobs_queue", table_name="jobs")
    order = ["owner_id", "priority", "requirement", "created_at", "id"]
    op.create_index("ix_jobs_queue", "jobs", order, postgresql_where=sa.text("status = 'queued'"))


def _count_what_runs() -> None:
    op.execute(
        "UPDATE job_attempts AS a SET slots = jobs.slots FROM jobs WHERE jobs.id = a.job_id AND a.ended_at IS NULL"
    )
    op.execute(
        f"""
        UPDATE owners SET running_jobs = held.jobs, slots_in_use = held.slots
        FROM (SELECT owner_id, count(*) AS jobs, sum(slots) AS slots FROM jobs WHERE status IN {ACTIVE} GROUP BY 1) AS held
        WHERE held.owner_id = owners.id
        """
    )


def _empty_object(name: str) -> sa.Column:
    return sa.Column(name, postgresql.JSONB(none_as_null=True), server_default=sa.text("'{}'"), nullable=False)
