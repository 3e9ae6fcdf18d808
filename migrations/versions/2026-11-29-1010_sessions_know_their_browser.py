"""sessions know their browser

Revision: 5c0d7e92ab41, after 5d81c2f7a390.
"""

import sqlalchemy as sa
from alembic import op

revision = "5c0d7e92ab41"
down_revision = "5d81c2f7a390"


def upgrade() -> None:
    op.add_column("browser_sessions", sa.Column("address", sa.Text()))
    op.add_column("browser_sessions", sa.Column("user_agent", sa.Text()))


def downgrade() -> None:
    op.drop_column("browser_sessions", "user_agent")
    op.drop_column("browser_sessions", "address")
