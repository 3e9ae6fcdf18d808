"""prompts are found by their likeness

Revision: f6a2d0b5e806, after e5f1c9a4f705.

Rows that were indexed before have no bands: the data worker adds them when a user compares such rows.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "f6a2d0b5e806"
down_revision = "e5f1c9a4f705"


def upgrade() -> None:
    op.create_table(
        "dataset_prompts",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("prompt_hash", sa.BigInteger(), nullable=False),
        sa.Column("bands", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.ForeignKeyConstraint(
            ["sha256"], ["dataset_contents.sha256"], name=op.f("fk_dataset_prompts_sha256"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sha256", "prompt_hash", name=op.f("pk_dataset_prompts")),
    )


def downgrade() -> None:
    op.drop_table("dataset_prompts")
