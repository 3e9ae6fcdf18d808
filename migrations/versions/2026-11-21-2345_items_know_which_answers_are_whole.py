"""items know which answers are whole, and a round has a secret

Revision: d4e0b8f3e604, after d3c9a7e2d503.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d4e0b8f3e604"
down_revision = "d3c9a7e2d503"


def upgrade() -> None:
    op.add_column("annotation_items", sa.Column("finished", postgresql.ARRAY(sa.Boolean()), nullable=True))
    salt = sa.Column("salt", sa.Text(), server_default=sa.text("gen_random_uuid()::text"), nullable=False)
    op.add_column("annotation_rounds", salt)


def downgrade() -> None:
    op.drop_column("annotation_rounds", "salt")
    op.drop_column("annotation_items", "finished")
