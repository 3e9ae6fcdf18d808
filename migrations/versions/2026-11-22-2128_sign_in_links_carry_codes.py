"""sign-in links carry codes

Revision: b4d8f0a2c613, after c2e5a7b9d103.
"""

import sqlalchemy as sa
from alembic import op

revision = "b4d8f0a2c613"
down_revision = "c2e5a7b9d103"


def upgrade() -> None:
    op.create_table(
        "sign_in_codes",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=op.f("fk_sign_in_codes_key_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sign_in_codes")),
    )
    op.create_index(op.f("ix_sign_in_codes_key_id"), "sign_in_codes", ["key_id"])
    op.create_index(op.f("ix_sign_in_codes_expires_at"), "sign_in_codes", ["expires_at"])


def downgrade() -> None:
    op.drop_table("sign_in_codes")
