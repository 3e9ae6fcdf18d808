"""jobs have tags, notes and metadata, and are searched

Revision: e7b2c9d4f618, after d9a4c7e1b250.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "e7b2c9d4f618"
down_revision = "d9a4c7e1b250"
COLUMNS = ("search_vector", "model", "metadata", "notes", "tags")


def upgrade() -> None:
    json = postgresql.JSONB(astext_type=sa.Text())
    op.add_column("jobs", sa.Column("tags", json, server_default=sa.text("'[]'"), nullable=False))
    op.add_column("jobs", sa.Column("notes", sa.Text(), server_default="", nullable=False))
    op.add_column("jobs", sa.Column("metadata", json, server_default=sa.text("'{}'"), nullable=False))
    # One statement, so that the table is written once.
    op.execute(
        """
        ALTER TABLE jobs
            ADD COLUMN model text GENERATED ALWAYS AS ("left"((spec #>> '{model,path}'::text[]), 400)) STORED,
            ADD COLUMN search_vector tsvector NOT NULL GENERATED ALWAYS AS (
                (((to_tsvector('simple'::regconfig, name) || to_tsvector('simple'::regconfig, notes))
                || to_tsvector('simple'::regconfig, tags)) || array_to_tsvector(ARRAY[id]))) STORED
        """
    )
    op.create_index(op.f("ix_jobs_owner_id_model_created_at_id"), "jobs", ["owner_id", "model", "created_at", "id"])
    op.create_index("ix_jobs_tagged", "jobs", ["owner_id"], postgresql_where=sa.text("tags <> '[]'"))
    op.create_index("ix_jobs_tags", "jobs", ["tags"], postgresql_using="gin", postgresql_ops={"tags": "jsonb_path_ops"})
    op.create_index("ix_jobs_search", "jobs", ["search_vector"], postgresql_using="gin")


def downgrade() -> None:
    for index in ("ix_jobs_search", "ix_jobs_tags", "ix_jobs_tagged", op.f("ix_jobs_owner_id_model_created_at_id")):
        op.drop_index(index, table_name="jobs")
    for column in COLUMNS:
        op.drop_column("jobs", column)
