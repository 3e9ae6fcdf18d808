"""cordons outlast workers

Revision: d1a5c7e9f230, after c7e9a1b3d524.
"""

import sqlalchemy as sa
from alembic import op

revision = "d1a5c7e9f230"
down_revision = "c7e9a1b3d524"


def upgrade() -> None:
    op.add_column("workers", sa.Column("name", sa.Text(), server_default="", nullable=False))
    op.create_table(
        "worker_cordons",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("state IN ('cordoned', 'draining')", name=op.f("ck_worker_cordons_state")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker_cordons")),
    )


def downgrade() -> None:
    op.drop_table("worker_cordons")
    op.drop_column("workers", "name")
