"""jobs may be preemptible, and lines know the age of their first job

Revision: b4e6f8a02c35, after a4e8d2b6f017.
"""

import sqlalchemy as sa
from alembic import op

revision = "b4e6f8a02c35"
down_revision = "a4e8d2b6f017"
COLUMNS = ("preemptible", "preempting")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("jobs", sa.Column(name, sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("jobs", sa.Column("preempted", sa.BigInteger(), server_default="0", nullable=False))

    op.add_column("queue_lines", sa.Column("oldest", sa.DateTime(timezone=True)))
    op.execute(
        """
        UPDATE queue_lines AS line SET oldest = coalesce((
            SELECT min(created_at) FROM jobs WHERE status = 'queued'
                AND (owner_id, priority, requirement) = (line.owner_id, line.priority, line.requirement)), waits_since)
        """
    )
    op.alter_column("queue_lines", "oldest", nullable=False)


def downgrade() -> None:
    op.drop_column("queue_lines", "oldest")
    op.drop_column("jobs", "preempted")
    for name in COLUMNS:
        op.drop_column("jobs", name)
