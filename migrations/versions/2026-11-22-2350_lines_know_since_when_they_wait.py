"""lines know since when they wait

Revision: a3d5e7f91b24, after d1a5c7e9f230.

Every line of the queue gets a row. Before, a line had one after its first claim.
"""

from alembic import op

revision = "a3d5e7f91b24"
down_revision = "d1a5c7e9f230"


def upgrade() -> None:
    op.drop_index("ix_queue_lines_served_at", table_name="queue_lines")
    op.alter_column("queue_lines", "served_at", new_column_name="waits_since")
    op.execute(
        """
        INSERT INTO queue_lines (owner_id, priority, requirement, waits_since)
        SELECT DISTINCT ON (owner_id, priority, requirement) owner_id, priority, requirement, queued_at FROM jobs
        WHERE status = 'queued' ORDER BY owner_id, priority, requirement, created_at, id
        ON CONFLICT (owner_id, priority, requirement) DO UPDATE
        SET waits_since = greatest(queue_lines.waits_since, excluded.waits_since)
        """
    )


def downgrade() -> None:
    op.alter_column("queue_lines", "waits_since", new_column_name="served_at")
    op.create_index("ix_queue_lines_served_at", "queue_lines", ["served_at"])
