"""jobs are archived

Revision: d3f6b8c0e214, after c9e5a3f81b29.
"""

import sqlalchemy as sa
from alembic import op

revision = "d3f6b8c0e214"
down_revision = "c9e5a3f81b29"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "archived_at")
