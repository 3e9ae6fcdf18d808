"""view settings are kept

Revision: 3b9e5c7d20a4, after 8d27f4b1c6e9.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "3b9e5c7d20a4"
down_revision = "8d27f4b1c6e9"


def upgrade() -> None:
    op.create_table(
        "view_settings",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name=op.f("fk_view_settings_owner_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner_id", "name", name=op.f("pk_view_settings")),
    )


def downgrade() -> None:
    op.drop_table("view_settings")
