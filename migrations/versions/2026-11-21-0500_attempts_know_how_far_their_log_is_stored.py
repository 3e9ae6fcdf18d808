"""attempts know how far their log is stored

Revision: 8c0f2b7d41ae, after 5d1edc66994a.
"""

import sqlalchemy as sa
from alembic import op

revision = "8c0f2b7d41ae"
down_revision = "5d1edc66994a"


def upgrade() -> None:
    op.add_column("job_attempts", sa.Column("log_offset", sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("job_attempts", "log_offset")
