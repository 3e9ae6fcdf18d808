"""running jobs take commands

Revision: c5d2e8f4a163, after b4d8f0a2c613.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c5d2e8f4a163"
down_revision = "b4d8f0a2c613"


def upgrade() -> None:
    op.create_table(
        "job_commands",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("value_before", sa.Float(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("actor", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'pending') = (settled_at IS NULL)", name=op.f("ck_job_commands_settled_unless_pending")
        ),
        sa.CheckConstraint("status IN ('pending', 'applied', 'refused')", name=op.f("ck_job_commands_status")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_commands_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_commands")),
    )
    op.create_index(op.f("ix_job_commands_job_id_created_at_id"), "job_commands", ["job_id", "created_at", "id"])
    pending = sa.text("status = 'pending'")
    op.create_index("ix_job_commands_pending", "job_commands", ["job_id"], postgresql_where=pending)


def downgrade() -> None:
    op.drop_table("job_commands")
