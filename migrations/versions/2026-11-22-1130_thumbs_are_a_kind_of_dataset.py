"""thumbs are a kind of dataset

Revision: e5f1c9a4f705, after d4e0b8f3e604.
"""

from alembic import op

revision = "e5f1c9a4f705"
down_revision = "d4e0b8f3e604"


def upgrade() -> None:
    _allow_kinds("preferences", "thumbs", "prompts", "sft", "pretraining")


def downgrade() -> None:
    """Refused by the database while there are datasets of the new kind: they would have to be deleted first."""
    _allow_kinds("preferences", "prompts", "sft", "pretraining")


def _allow_kinds(*kinds: str) -> None:
    op.drop_constraint(op.f("ck_datasets_kind"), "datasets", type_="check")
    op.create_check_constraint(op.f("ck_datasets_kind"), "datasets", f"kind IN ({', '.join(map(repr, kinds))})")
