"""jobs know their parent

Revision: c2e5a7b9d103, after a9c3e6f1d208.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c2e5a7b9d103"
down_revision = "a9c3e6f1d208"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("parent", postgresql.JSONB(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "parent")
