"""attempts are forgiven

Revision: b1d4f6a8c092, after a7c3e1d6f907.

No job has been resumed by a user before, so every lost attempt of a stored job counts.
"""

import sqlalchemy as sa
from alembic import op

revision = "b1d4f6a8c092"
down_revision = "a7c3e1d6f907"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("forgiven_attempts", sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("jobs", "forgiven_attempts")
