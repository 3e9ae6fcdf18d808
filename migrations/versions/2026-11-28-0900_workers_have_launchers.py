"""workers have launchers

Revision: c5a90d7e41b6, after e81c4f6a3d27.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "c5a90d7e41b6"
down_revision = "e81c4f6a3d27"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("waits_because", sa.Text(), nullable=True))
    op.add_column("workers", sa.Column("launcher", sa.Text(), server_default="local", nullable=False))
    op.add_column("workers", sa.Column("problem", sa.Text(), nullable=True))
    op.add_column("workers", sa.Column("cluster", JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True))


def downgrade() -> None:
    for column in ("cluster", "problem", "launcher"):
        op.drop_column("workers", column)
    op.drop_column("jobs", "waits_because")
