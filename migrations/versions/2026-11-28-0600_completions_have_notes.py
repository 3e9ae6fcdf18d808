"""completions have notes

Revision: e81c4f6a3d27, after b3e5d20c7a18.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "e81c4f6a3d27"
down_revision = "b3e5d20c7a18"


def upgrade() -> None:
    op.create_table(
        "sample_notes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("sample", JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_sample_notes_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sample_notes")),
        sa.UniqueConstraint("job_id", "seq", "index", name=op.f("uq_sample_notes_job_id_seq_index")),
    )
    op.create_index(op.f("ix_sample_notes_job_id_created_at_id"), "sample_notes", ["job_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_table("sample_notes")
