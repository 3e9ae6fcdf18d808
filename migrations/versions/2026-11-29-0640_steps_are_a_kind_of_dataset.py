"""steps are a kind of dataset

Revision: 7b1e4c93d2f8, after 4d8f2b6c91ae.
"""

from alembic import op

revision = "7b1e4c93d2f8"
down_revision = "4d8f2b6c91ae"


def upgrade() -> None:
    _allow_kinds("preferences", "thumbs", "steps", "prompts", "sft", "pretraining")


def downgrade() -> None:
    """Refused by the database while there are datasets of the new kind: they would have to be deleted first."""
    _allow_kinds("preferences", "thumbs", "prompts", "sft", "pretraining")


def _allow_kinds(*kinds: str) -> None:
    """Replace the constraint. The table has one row for each dataset, so that to validate it takes no time."""
    op.drop_constraint(op.f("ck_datasets_kind"), "datasets", type_="check")
    listed = ", ".join(map(repr, kinds))
    op.execute(f"ALTER TABLE datasets ADD CONSTRAINT ck_datasets_kind CHECK (kind IN ({listed})) NOT VALID")
    op.execute("ALTER TABLE datasets VALIDATE CONSTRAINT ck_datasets_kind")
