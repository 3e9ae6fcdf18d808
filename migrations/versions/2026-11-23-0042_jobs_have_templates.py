"""jobs have templates

Revision: a4e8d2b6f017, after f2a7c4d81b93.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "a4e8d2b6f017"
down_revision = "f2a7c4d81b93"


def upgrade() -> None:
    op.create_table(
        "job_templates",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_job_templates_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_templates")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_job_templates_owner_id_name")),
    )
    op.create_index(op.f("ix_job_templates_owner_id_created_at_id"), "job_templates", ["owner_id", "created_at", "id"])


def downgrade() -> None:
    op.drop_table("job_templates")
