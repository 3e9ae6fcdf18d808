"""texts for pretraining, and checkpoints that jobs need

Revision: 1f6a9c04be27, after 8c0f2b7d41ae.
"""

import sqlalchemy as sa
from alembic import op

revision = "1f6a9c04be27"
down_revision = "8c0f2b7d41ae"


def upgrade() -> None:
    _allow_kinds("preferences", "prompts", "sft", "pretraining")
    op.create_table(
        "checkpoint_pins",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_checkpoint_pins_job_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_checkpoint_pins_checkpoint_id"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("job_id", "field", name=op.f("pk_checkpoint_pins")),
    )
    op.create_index(op.f("ix_checkpoint_pins_checkpoint_id"), "checkpoint_pins", ["checkpoint_id"], unique=False)


def downgrade() -> None:
    """Refused by the database while there are datasets of the new kind: they would have to be deleted first."""
    op.drop_table("checkpoint_pins")
    _allow_kinds("preferences", "prompts", "sft")


def _allow_kinds(*kinds: str) -> None:
    op.drop_constraint(op.f("ck_datasets_kind"), "datasets", type_="check")
    op.create_check_constraint(op.f("ck_datasets_kind"), "datasets", f"kind IN ({', '.join(map(repr, kinds))})")
