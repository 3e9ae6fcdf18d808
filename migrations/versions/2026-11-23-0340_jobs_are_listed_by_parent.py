"""jobs are listed by their parent

Revision: 6f1c2a84be03, after 3b9d70c1e5f2.
"""

import sqlalchemy as sa
from alembic import op

revision = "6f1c2a84be03"
down_revision = "3b9d70c1e5f2"


def upgrade() -> None:
    parent = sa.text("(parent ->> 'job')")
    op.create_index("ix_jobs_parent", "jobs", [parent], postgresql_where=sa.text("parent IS NOT NULL"))


def downgrade() -> None:
    op.drop_index("ix_jobs_parent", "jobs")
