"""workers join with tokens

Revision: 9c4e7b1d05f2, after c5a90d7e41b6.
"""

import sqlalchemy as sa
from alembic import op

revision = "9c4e7b1d05f2"
down_revision = "c5a90d7e41b6"


def upgrade() -> None:
    op.create_table(
        "worker_tokens",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=op.f("fk_worker_tokens_key_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_worker_tokens")),
    )
    op.create_index(op.f("ix_worker_tokens_key_id"), "worker_tokens", ["key_id"])
    op.create_index(op.f("ix_worker_tokens_expires_at"), "worker_tokens", ["expires_at"])


def downgrade() -> None:
    op.drop_table("worker_tokens")
