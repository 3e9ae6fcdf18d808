"""jobs keep their console output

Revision: b3d8f1a6c720, after b8d4f2e70a18.
"""

import sqlalchemy as sa
from alembic import op

revision = "b3d8f1a6c720"
down_revision = "b8d4f2e70a18"


def upgrade() -> None:
    op.create_table(
        "job_log_chunks",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("first_line", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.BigInteger(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("dropped_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("beginning", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("lines > 0", name=op.f("ck_job_log_chunks_has_lines")),
        sa.CheckConstraint("source IN ('trainer', 'worker')", name=op.f("ck_job_log_chunks_source")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_log_chunks_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "first_line", name=op.f("pk_job_log_chunks")),
    )
    name = op.f("ix_job_log_chunks_job_id_attempt_first_line")
    op.create_index(name, "job_log_chunks", ["job_id", "attempt", "first_line"])
    op.add_column("job_attempts", sa.Column("console_bytes", sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("job_attempts", "console_bytes")
    op.drop_table("job_log_chunks")
