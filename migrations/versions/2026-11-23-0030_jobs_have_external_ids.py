"""jobs and datasets have external ids

Revision: f2a7c4d81b93, after a3d5e7f91b24.
"""

import sqlalchemy as sa
from alembic import op

revision = "f2a7c4d81b93"
down_revision = "a3d5e7f91b24"
TABLES = ("jobs", "datasets")


def upgrade() -> None:
    given = sa.text("external_id IS NOT NULL")
    for table in TABLES:
        op.add_column(table, sa.Column("external_id", sa.Text(), nullable=True))
        op.create_index(
            f"ix_{table}_external_id", table, ["owner_id", "external_id"], unique=True, postgresql_where=given
        )


def downgrade() -> None:
    for table in TABLES:
        op.drop_index(f"ix_{table}_external_id", table_name=table)
        op.drop_column(table, "external_id")
