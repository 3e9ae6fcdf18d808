"""workers report their machine, and keys may be operators

Revision: c9e5a3f81b29, after c5e9a1b3d724.

The key that `proximal up` made becomes an operator's key. A worker row is written anew when the worker starts.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c9e5a3f81b29"
down_revision = "c5e9a1b3d724"

COLUMNS = (
    sa.Column("state", sa.Text(), server_default="online", nullable=False),
    sa.Column("worker_class", sa.Text(), server_default="", nullable=False),
    sa.Column("capacity", postgresql.JSONB(none_as_null=True), server_default=sa.text("'{}'"), nullable=False),
    sa.Column("gpus", postgresql.JSONB(none_as_null=True), server_default=sa.text("'[]'"), nullable=False),
    sa.Column("cores", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("memory_bytes", sa.BigInteger(), server_default="0", nullable=False),
    sa.Column("version", sa.Text(), server_default="", nullable=False),
)


def upgrade() -> None:
    for column in COLUMNS:
        op.add_column("workers", column._copy())
    op.create_check_constraint(op.f("ck_workers_state"), "workers", "state IN ('online', 'cordoned', 'draining')")
    op.add_column("api_keys", sa.Column("operator", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.execute(
        """
        UPDATE api_keys SET operator = true
        WHERE name = 'local' AND id = (SELECT id FROM api_keys ORDER BY created_at, id LIMIT 1)
        """
    )
    finished = sa.text("outcome = 'finished'")
    op.create_index("ix_job_attempts_finished", "job_attempts", ["ended_at"], postgresql_where=finished)


def downgrade() -> None:
    op.drop_index("ix_job_attempts_finished", table_name="job_attempts")
    op.drop_column("api_keys", "operator")
    op.drop_constraint(op.f("ck_workers_state"), "workers")
    for column in COLUMNS:
        op.drop_column("workers", column.name)
