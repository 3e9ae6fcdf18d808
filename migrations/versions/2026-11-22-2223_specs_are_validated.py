"""specs are validated before they are submitted

Revision: c7e9a1b3d524, after e7b2c9d4f618.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c7e9a1b3d524"
down_revision = "e7b2c9d4f618"


def upgrade() -> None:
    op.create_table(
        "validations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("result", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("requested_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_validations_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_validations")),
        sa.UniqueConstraint("owner_id", "sha256", name=op.f("uq_validations_owner_id_sha256")),
    )


def downgrade() -> None:
    op.drop_table("validations")
