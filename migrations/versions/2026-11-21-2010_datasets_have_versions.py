"""datasets have versions

Revision: d1a7e5c0b301, after c47d0be9a815.

Every dataset gets a version 1 with its rows, which stay in their blobs. Datasets with equal rows now share one blob, and
the sweeper removes the others.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d1a7e5c0b301"
down_revision = "c47d0be9a815"

_JSONB = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
_ROLES = ("preferences", "sft", "prompts", "pretraining")


def upgrade() -> None:
    _create_contents()
    _create_versions()
    _create_tasks()
    _create_reports()
    _make_every_dataset_its_first_version()
    _let_jobs_name_versions()
    op.add_column("datasets", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("datasets", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_datasets_expires_at", "datasets", ["expires_at"], postgresql_where=sa.text("expires_at IS NOT NULL")
    )
    for name in ("rows", "bytes", "sha256", "blob_key"):  # their constraints go with them
        op.drop_column("datasets", name)


def downgrade() -> None:
    """Keeps the newest ready version of each dataset.

    The database refuses it while a dataset has none, or while two have the same rows. The older schema cannot store either,
    and they must be deleted first.
    """
    _put_the_newest_version_into_the_dataset()
    _let_jobs_name_datasets()
    op.drop_index("ix_datasets_expires_at", table_name="datasets")
    for name in ("archived_at", "expires_at"):
        op.drop_column("datasets", name)
    for table in ("dataset_reports", "data_tasks", "dataset_rows", "dataset_versions", "dataset_contents"):
        op.drop_table(table)


def _create_contents() -> None:
    op.create_table(
        "dataset_contents",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("search_rows", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("rows > 0", name=op.f("ck_dataset_contents_rows")),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_dataset_contents")),
        sa.UniqueConstraint("blob_key", name=op.f("uq_dataset_contents_blob_key")),
    )
    op.create_table(
        "dataset_rows",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=False),
        sa.Column("search", postgresql.TSVECTOR(), nullable=False),
        sa.Column("prompt_hash", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["sha256"], ["dataset_contents.sha256"], name=op.f("fk_dataset_rows_sha256"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sha256", "row", name=op.f("pk_dataset_rows")),
    )
    op.create_index("ix_dataset_rows_search", "dataset_rows", ["search"], postgresql_using="gin")
    op.create_index(op.f("ix_dataset_rows_sha256_prompt_hash"), "dataset_rows", ["sha256", "prompt_hash"])


def _create_versions() -> None:
    op.create_table(
        "dataset_versions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("dataset_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("origin", _JSONB, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("findings", _JSONB, nullable=False),
        sa.Column("left_out", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("error", _JSONB, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('importing', 'ready', 'blocked', 'failed')", name=op.f("ck_dataset_versions_status")
        ),
        sa.CheckConstraint(
            "(status IN ('ready', 'blocked')) = (sha256 IS NOT NULL)", name=op.f("ck_dataset_versions_rows_when_done")
        ),
        sa.CheckConstraint(
            "(status = 'ready') = (ready_at IS NOT NULL)", name=op.f("ck_dataset_versions_ready_at_when_ready")
        ),
        sa.CheckConstraint(
            "(status = 'failed') = (error IS NOT NULL)", name=op.f("ck_dataset_versions_failed_says_why")
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_dataset_versions_dataset_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["dataset_versions.id"], name=op.f("fk_dataset_versions_parent_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["sha256"], ["dataset_contents.sha256"], name=op.f("fk_dataset_versions_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset_versions")),
        sa.UniqueConstraint("dataset_id", "number", name=op.f("uq_dataset_versions_dataset_id_number")),
    )
    op.create_index(op.f("ix_dataset_versions_parent_id"), "dataset_versions", ["parent_id"])
    op.create_index(op.f("ix_dataset_versions_sha256"), "dataset_versions", ["sha256"])


def _create_tasks() -> None:
    op.create_table(
        "data_tasks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("args", _JSONB, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), server_default="0", nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", _JSONB, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_data_tasks_status")
        ),
        sa.CheckConstraint(
            "(status = 'running') = (lease_expires_at IS NOT NULL)", name=op.f("ck_data_tasks_lease_while_running")
        ),
        sa.CheckConstraint(
            "(status = 'running') = (worker_id IS NOT NULL)", name=op.f("ck_data_tasks_worker_while_running")
        ),
        sa.CheckConstraint(
            "(status IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name=op.f("ck_data_tasks_finished_when_over"),
        ),
        sa.CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name=op.f("ck_data_tasks_failed_says_why")),
        sa.ForeignKeyConstraint(["owner_id"], ["api_keys.id"], name=op.f("fk_data_tasks_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_tasks")),
    )
    op.create_index(op.f("ix_data_tasks_owner_id_created_at_id"), "data_tasks", ["owner_id", "created_at", "id"])
    op.create_index("ix_data_tasks_queue", "data_tasks", ["created_at"], postgresql_where=sa.text("status = 'queued'"))
    op.create_index(
        "ix_data_tasks_leases", "data_tasks", ["lease_expires_at"], postgresql_where=sa.text("status = 'running'")
    )


def _create_reports() -> None:
    op.create_table(
        "dataset_reports",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version_id", sa.Text(), nullable=False),
        sa.Column("settings", _JSONB, nullable=False),
        sa.Column("settings_sha256", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("result", _JSONB, nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"], ["dataset_versions.id"], name=op.f("fk_dataset_reports_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset_reports")),
        sa.UniqueConstraint(
            "version_id", "settings_sha256", name=op.f("uq_dataset_reports_version_id_settings_sha256")
        ),
    )


def _make_every_dataset_its_first_version() -> None:
    """And queue the search index of its rows, which the older schema had none of."""
    op.execute("""
        INSERT INTO dataset_contents (sha256, rows, bytes, blob_key, created_at)
        SELECT DISTINCT ON (sha256) sha256, rows, bytes, blob_key, created_at
        FROM datasets ORDER BY sha256, created_at, id
    """)
    op.execute("""
        INSERT INTO dataset_versions (id, dataset_id, number, status, origin, sha256, findings, created_at, ready_at)
        SELECT 'dv_' || substr(id, 4), id, 1, 'ready', jsonb_build_object('type', 'upload', 'filename', name), sha256, '[]',
               created_at, created_at
        FROM datasets
    """)
    op.execute("""
        INSERT INTO data_tasks (id, owner_id, kind, args, status)
        SELECT 'dt_' || substr(datasets.id, 4), owner_id, 'index',
               jsonb_build_object('dataset', datasets.id, 'sha256', datasets.sha256), 'queued'
        FROM datasets JOIN dataset_contents USING (blob_key)
    """)


def _let_jobs_name_versions() -> None:
    op.add_column("job_datasets", sa.Column("version_id", sa.Text(), nullable=True))
    op.execute("""
        UPDATE job_datasets SET version_id = dataset_versions.id
        FROM dataset_versions WHERE dataset_versions.dataset_id = job_datasets.dataset_id
    """)
    op.alter_column("job_datasets", "version_id", nullable=False)
    op.create_foreign_key(
        op.f("fk_job_datasets_version_id"),
        "job_datasets",
        "dataset_versions",
        ["version_id"],
        ["id"],
        ondelete="CASCADE",
    )
    op.create_index(op.f("ix_job_datasets_version_id"), "job_datasets", ["version_id"])
    op.drop_column("job_datasets", "dataset_id")


def _put_the_newest_version_into_the_dataset() -> None:
    for name, kind in (("rows", sa.BigInteger()), ("bytes", sa.BigInteger())):
        op.add_column("datasets", sa.Column(name, kind, nullable=True))
    for name in ("sha256", "blob_key"):
        op.add_column("datasets", sa.Column(name, sa.Text(), nullable=True))
    op.execute("""
        UPDATE datasets SET rows = newest.rows, bytes = newest.bytes, sha256 = newest.sha256, blob_key = newest.blob_key
        FROM (
            SELECT DISTINCT ON (dataset_id) dataset_id, dataset_contents.*
            FROM dataset_versions JOIN dataset_contents USING (sha256)
            WHERE status = 'ready' ORDER BY dataset_id, number DESC
        ) AS newest WHERE newest.dataset_id = datasets.id
    """)
    for name in ("rows", "bytes", "sha256", "blob_key"):
        op.alter_column("datasets", name, nullable=False)
    op.create_check_constraint(op.f("ck_datasets_rows"), "datasets", "rows > 0")
    op.create_unique_constraint(op.f("uq_datasets_blob_key"), "datasets", ["blob_key"])


def _let_jobs_name_datasets() -> None:
    """The older code looks for the dataset by the name in the spec, which must then be an id alone."""
    op.add_column("job_datasets", sa.Column("dataset_id", sa.Text(), nullable=True))
    op.execute("""
        UPDATE job_datasets SET dataset_id = dataset_versions.dataset_id
        FROM dataset_versions WHERE dataset_versions.id = job_datasets.version_id
    """)
    op.alter_column("job_datasets", "dataset_id", nullable=False)
    op.create_foreign_key(
        op.f("fk_job_datasets_dataset_id"), "job_datasets", "datasets", ["dataset_id"], ["id"], ondelete="CASCADE"
    )
    op.create_index(op.f("ix_job_datasets_dataset_id"), "job_datasets", ["dataset_id"])
    op.drop_column("job_datasets", "version_id")
    for role in _ROLES:
        op.execute(f"""
            UPDATE jobs SET spec = jsonb_set(spec, '{{data,{role}}}', to_jsonb(split_part(spec->'data'->>'{role}', '@', 1)))
            WHERE spec->'data'->>'{role}' LIKE 'ds\\_%@%'
        """)
