"""damage of checkpoints and of rows is recorded

Revision: c27d90b4e6a1, after 5e1d9a3c7f42.
"""

import sqlalchemy as sa
from alembic import op

revision = "c27d90b4e6a1"
down_revision = "5e1d9a3c7f42"
_TABLES = ("checkpoints", "dataset_contents")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("damage", sa.Text(), nullable=True))
        op.add_column(table, sa.Column("damaged_at", sa.DateTime(timezone=True), nullable=True))
        op.create_check_constraint(
            op.f(f"ck_{table}_damage_has_a_time"), table, "(damage IS NULL) = (damaged_at IS NULL)"
        )


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "damaged_at")
        op.drop_column(table, "damage")
