"""responses are stored for repeated requests

Revision: c5e9a1b3d724, after d6e3f9a5b274.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c5e9a1b3d724"
down_revision = "d6e3f9a5b274"


def upgrade() -> None:
    op.create_table(
        "stored_responses",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("headers", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name=op.f("fk_stored_responses_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner_id", "key", name=op.f("pk_stored_responses")),
    )
    op.create_index(op.f("ix_stored_responses_expires_at"), "stored_responses", ["expires_at"])


def downgrade() -> None:
    op.drop_table("stored_responses")
