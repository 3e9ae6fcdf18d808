"""keys know who made them

Revision: 6f0d3a81c7b2, after 3b9e5c7d20a4.
"""

import sqlalchemy as sa
from alembic import op

revision = "6f0d3a81c7b2"
down_revision = "3b9e5c7d20a4"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("made_by", sa.Text(), nullable=True))
    op.create_index(op.f("ix_api_keys_made_by"), "api_keys", ["made_by"])
    op.create_foreign_key(op.f("fk_api_keys_made_by"), "api_keys", "api_keys", ["made_by"], ["id"])


def downgrade() -> None:
    op.drop_column("api_keys", "made_by")
