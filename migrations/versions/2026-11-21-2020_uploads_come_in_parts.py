"""uploads come in parts

Revision: d2b8f6d1c402, after d1a7e5c0b301.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d2b8f6d1c402"
down_revision = "d1a7e5c0b301"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("part_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", moment, server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("completed_at", moment, nullable=True),
        sa.CheckConstraint("status IN ('open', 'fetching', 'complete', 'failed')", name=op.f("ck_uploads_status")),
        sa.CheckConstraint("bytes > 0 AND part_bytes > 0", name=op.f("ck_uploads_sizes")),
        sa.CheckConstraint("bytes IS NOT NULL OR url IS NOT NULL", name=op.f("ck_uploads_size_is_known")),
        sa.CheckConstraint(
            "(status = 'complete') = (completed_at IS NOT NULL)", name=op.f("ck_uploads_completed_when_complete")
        ),
        sa.CheckConstraint(
            "status <> 'complete' OR (bytes IS NOT NULL AND sha256 IS NOT NULL)",
            name=op.f("ck_uploads_complete_is_described"),
        ),
        sa.CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name=op.f("ck_uploads_failed_says_why")),
        sa.ForeignKeyConstraint(["owner_id"], ["api_keys.id"], name=op.f("fk_uploads_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_index(op.f("ix_uploads_owner_id_created_at_id"), "uploads", ["owner_id", "created_at", "id"])
    op.create_index(op.f("ix_uploads_expires_at"), "uploads", ["expires_at"])
    op.create_table(
        "upload_parts",
        sa.Column("upload_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("number > 0 AND bytes > 0", name=op.f("ck_upload_parts_numbers")),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["uploads.id"], name=op.f("fk_upload_parts_upload_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("upload_id", "number", name=op.f("pk_upload_parts")),
    )


def downgrade() -> None:
    """Uploads that no dataset was made of are lost. Their blobs stay below `uploads/`."""
    op.drop_table("upload_parts")
    op.drop_table("uploads")
