"""jobs form groups

Revision: d6e3f9a5b274, after c5d2e8f4a163.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d6e3f9a5b274"
down_revision = "c5d2e8f4a163"


def upgrade() -> None:
    now = sa.text("clock_timestamp()")
    op.create_table(
        "job_groups",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("max_parallel", sa.BigInteger(), nullable=True),
        sa.Column("sweep", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=now, nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_job_groups_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_groups")),
    )
    op.create_index(op.f("ix_job_groups_owner_id_created_at_id"), "job_groups", ["owner_id", "created_at", "id"])
    op.create_table(
        "job_group_members",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("values", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"], ["job_groups.id"], name=op.f("fk_job_group_members_group_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_group_members_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_job_group_members")),
    )
    op.create_index(op.f("ix_job_group_members_group_id_number"), "job_group_members", ["group_id", "number"])
    op.create_index("ix_job_group_members_held", "job_group_members", ["group_id"], postgresql_where=sa.text("held"))


def downgrade() -> None:
    op.drop_table("job_group_members")
    op.drop_table("job_groups")
