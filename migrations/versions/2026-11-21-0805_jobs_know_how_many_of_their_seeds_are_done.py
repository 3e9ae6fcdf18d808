"""jobs know how many of their seeds are done

Revision: c47d0be9a815, after 6b2e81d57f93.
"""

import sqlalchemy as sa
from alembic import op

revision = "c47d0be9a815"
down_revision = "6b2e81d57f93"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("seeds_done", sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("jobs", "seeds_done")
