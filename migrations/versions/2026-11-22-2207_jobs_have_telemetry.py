"""jobs have telemetry

Revision: d9a4c7e1b250, after d3f6b8c0e214.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d9a4c7e1b250"
down_revision = "d3f6b8c0e214"


def upgrade() -> None:
    op.create_table(
        "job_telemetry",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("values", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_telemetry_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "attempt", "at", name=op.f("pk_job_telemetry")),
    )


def downgrade() -> None:
    op.drop_table("job_telemetry")
