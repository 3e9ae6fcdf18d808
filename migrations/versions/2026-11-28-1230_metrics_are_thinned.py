"""metrics are thinned

Revision: 4d8f2b6c91ae, after 9c4e7b1d05f2.
"""

import sqlalchemy as sa
from alembic import op

revision = "4d8f2b6c91ae"
down_revision = "9c4e7b1d05f2"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("metrics_thinned_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "metrics_thinned_at")
