"""projects have members, and keys have users, scopes and an end

Revision: 5d81c2f7a390, after 7b1e4c93d2f8.

`owners` and `owner_id` keep their names, which the previous release reads. No row is changed: a key without a user gets that of its
project at its first use (core/access/members.py), and an object without a maker has no known one.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5d81c2f7a390"
down_revision = "7b1e4c93d2f8"

MADE_BY_USERS = ("jobs", "datasets", "uploads", "job_groups", "job_templates", "annotation_rounds")


def upgrade() -> None:
    _create_users()
    op.add_column("api_keys", sa.Column("user_id", sa.Text(), nullable=True))
    op.add_column("api_keys", sa.Column("scopes", postgresql.JSONB(), nullable=True))
    op.add_column("api_keys", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    for table in MADE_BY_USERS:
        op.add_column(table, sa.Column("created_by", sa.Text(), nullable=True))


def downgrade() -> None:
    for table in MADE_BY_USERS:
        op.drop_column(table, "created_by")
    for column in ("expires_at", "scopes", "user_id"):
        op.drop_column("api_keys", column)
    op.drop_table("memberships")
    op.drop_table("users")


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("kind IN ('person', 'service')", name=op.f("ck_users_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
    )
    op.create_table(
        "memberships",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'annotator', 'member', 'admin')", name=op.f("ck_memberships_role")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["owners.id"], name=op.f("fk_memberships_project_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_user_id"), "memberships", ["user_id"])
