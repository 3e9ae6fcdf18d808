"""data tasks succeed as jobs do, and are found by their end

Revision: 4f83a6c01d2b, after 4b7e19f0c3d8.
"""

import sqlalchemy as sa
from alembic import op

revision = "4f83a6c01d2b"
down_revision = "4b7e19f0c3d8"
_STATUS, _FINISHED = "ck_data_tasks_status", "ck_data_tasks_finished_when_over"


def upgrade() -> None:
    _rename("done", "succeeded")
    ended = sa.text("finished_at IS NOT NULL")
    op.create_index("ix_data_tasks_ended", "data_tasks", ["finished_at"], postgresql_where=ended)


def downgrade() -> None:
    op.drop_index("ix_data_tasks_ended", "data_tasks")
    _rename("succeeded", "done")


def _rename(before: str, after: str) -> None:
    for name in (_STATUS, _FINISHED):
        op.drop_constraint(op.f(name), "data_tasks")
    op.execute(
        sa.text("UPDATE data_tasks SET status = :after WHERE status = :before").bindparams(after=after, before=before)
    )
    ended = f"'{after}', 'failed', 'cancelled'"
    op.create_check_constraint(op.f(_STATUS), "data_tasks", f"status IN ('queued', 'running', {ended})")
    op.create_check_constraint(op.f(_FINISHED), "data_tasks", f"(status IN ({ended})) = (finished_at IS NOT NULL)")
