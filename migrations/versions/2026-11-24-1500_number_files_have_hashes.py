"""files of numbers beside rows have a size and a hash

Null for a file that was stored before. It is not verified.

Revision: 6d1e0b7a94c2, after 4f83a6c01d2b.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "6d1e0b7a94c2"
down_revision = "4f83a6c01d2b"
_TABLES = ("dataset_contents", "dataset_versions", "dataset_reports")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("number_files", JSONB(), nullable=True))


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "number_files")
