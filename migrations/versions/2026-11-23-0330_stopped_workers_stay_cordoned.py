"""stopped workers stay cordoned

Revision: 3b9d70c1e5f2, after b4e6f8a02c35.

A worker that an operator has cordoned keeps its row when it stops, so that the list shows it. Cordons of workers that have
stopped before get such a row.
"""

import sqlalchemy as sa
from alembic import op

revision = "3b9d70c1e5f2"
down_revision = "b4e6f8a02c35"


def upgrade() -> None:
    op.add_column("workers", sa.Column("stopped_at", sa.DateTime(timezone=True)))
    op.execute(
        """
        INSERT INTO workers (id, name, hostname, state, started_at, last_seen_at, stopped_at)
        SELECT 'wrk_' || left(md5(name), 24), name, name, state, set_at, set_at, set_at
        FROM worker_cordons AS cordon WHERE NOT EXISTS (SELECT FROM workers WHERE workers.name = cordon.name)
        """
    )


def downgrade() -> None:
    op.execute("DELETE FROM workers WHERE stopped_at IS NOT NULL")
    op.drop_column("workers", "stopped_at")
