"""keys belong to owners

Revision: a7c3e1d6f907, after f6a2d0b5e806.

Every key becomes the key of an owner with the same id, so that no row changes its owner.
"""

import sqlalchemy as sa
from alembic import op

revision = "a7c3e1d6f907"
down_revision = "f6a2d0b5e806"

OWNED = ("jobs", "datasets", "data_tasks", "uploads", "annotation_rounds")


def upgrade() -> None:
    op.create_table(
        "owners",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_owners")),
    )
    op.execute("INSERT INTO owners (id, name, created_at) SELECT id, name, created_at FROM api_keys")
    op.add_column("api_keys", sa.Column("owner_id", sa.Text(), nullable=True))
    op.execute("UPDATE api_keys SET owner_id = id")
    op.alter_column("api_keys", "owner_id", nullable=False)
    op.create_index(op.f("ix_api_keys_owner_id"), "api_keys", ["owner_id"])
    op.create_foreign_key(op.f("fk_api_keys_owner_id"), "api_keys", "owners", ["owner_id"], ["id"])
    _point_owned_rows_at("owners")


def downgrade() -> None:
    _point_owned_rows_at("api_keys")
    op.drop_column("api_keys", "owner_id")
    op.drop_table("owners")


def _point_owned_rows_at(table: str) -> None:
    for owned in OWNED:
        name = op.f(f"fk_{owned}_owner_id")
        op.drop_constraint(name, owned, type_="foreignkey")
        op.create_foreign_key(name, owned, table, ["owner_id"], ["id"])
