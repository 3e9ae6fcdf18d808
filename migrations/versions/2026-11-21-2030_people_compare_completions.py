"""people compare completions

Revision: d3c9a7e2d503, after d2b8f6d1c402.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d3c9a7e2d503"
down_revision = "d2b8f6d1c402"

_JSONB = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_rounds()
    _create_pins()
    _create_items()
    _create_annotations()


def downgrade() -> None:
    for table in ("annotations", "annotation_items", "annotation_pins", "annotation_rounds"):
        op.drop_table(table)


def _create_rounds() -> None:
    op.create_table(
        "annotation_rounds",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("source", _JSONB, nullable=False),
        sa.Column("policies", _JSONB, nullable=True),
        sa.Column("gold", sa.Text(), nullable=True),
        sa.Column("gold_share", sa.Double(), nullable=False),
        sa.Column("overlap", sa.BigInteger(), nullable=False),
        sa.Column("reservation_minutes", sa.Double(), nullable=False),
        sa.Column("left_out", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("error", _JSONB, nullable=True),
        sa.Column("reward_model", sa.Text(), nullable=True),
        sa.Column("scores_task_id", sa.Text(), nullable=True),
        sa.Column("dataset_id", sa.Text(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("jobs", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("created_at", _TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("closed_at", _TIME, nullable=True),
        sa.CheckConstraint("kind IN ('pairs', 'ranking')", name=op.f("ck_annotation_rounds_kind")),
        sa.CheckConstraint(
            "status IN ('preparing', 'open', 'paused', 'closing', 'closed', 'failed')",
            name=op.f("ck_annotation_rounds_status"),
        ),
        sa.CheckConstraint("overlap > 0", name=op.f("ck_annotation_rounds_overlap")),
        sa.CheckConstraint("gold_share >= 0 AND gold_share <= 0.5", name=op.f("ck_annotation_rounds_gold_share")),
        sa.CheckConstraint(
            "status <> 'failed' OR error IS NOT NULL", name=op.f("ck_annotation_rounds_failed_says_why")
        ),
        sa.CheckConstraint(
            "(status = 'closed') = (closed_at IS NOT NULL)", name=op.f("ck_annotation_rounds_closed_when_closed")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["api_keys.id"], name=op.f("fk_annotation_rounds_owner_id")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_annotation_rounds_dataset_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotation_rounds")),
    )
    op.create_index(
        op.f("ix_annotation_rounds_owner_id_created_at_id"), "annotation_rounds", ["owner_id", "created_at", "id"]
    )


def _create_pins() -> None:
    op.create_table(
        "annotation_pins",
        sa.Column("round_id", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        _of_the_round("annotation_pins"),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoints.id"], name=op.f("fk_annotation_pins_checkpoint_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("round_id", "checkpoint_id", "purpose", name=op.f("pk_annotation_pins")),
    )
    op.create_index(op.f("ix_annotation_pins_checkpoint_id"), "annotation_pins", ["checkpoint_id"])


def _create_items() -> None:
    op.create_table(
        "annotation_items",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("round_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("prompt", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("completions", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("policies", postgresql.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("gold", _JSONB, nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("row", sa.BigInteger(), nullable=True),
        sa.Column("answers", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("scores", postgresql.ARRAY(sa.Double()), nullable=True),
        sa.CheckConstraint("cardinality(completions) BETWEEN 2 AND 9", name=op.f("ck_annotation_items_completions")),
        sa.CheckConstraint("answers >= 0", name=op.f("ck_annotation_items_answers")),
        _of_the_round("annotation_items"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotation_items")),
        sa.UniqueConstraint("round_id", "number", name=op.f("uq_annotation_items_round_id_number")),
    )


def _create_annotations() -> None:
    op.create_table(
        "annotations",
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("round_id", sa.Text(), nullable=False),
        sa.Column("gold", sa.Boolean(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("choice", sa.Text(), nullable=True),
        sa.Column("ranks", postgresql.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("shown", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("handed_at", _TIME, nullable=False),
        sa.Column("reserved_until", _TIME, nullable=False),
        sa.Column("answered_at", _TIME, nullable=True),
        sa.CheckConstraint("status IN ('open', 'answered', 'skipped')", name=op.f("ck_annotations_status")),
        sa.CheckConstraint(
            "status <> 'answered' OR choice IN ('a', 'b', 'tie') OR ranks IS NOT NULL",
            name=op.f("ck_annotations_answered"),
        ),
        sa.CheckConstraint("(status = 'open') = (answered_at IS NULL)", name=op.f("ck_annotations_answered_at")),
        sa.ForeignKeyConstraint(
            ["item_id"], ["annotation_items.id"], name=op.f("fk_annotations_item_id"), ondelete="CASCADE"
        ),
        _of_the_round("annotations"),
        sa.PrimaryKeyConstraint("item_id", "annotator", name=op.f("pk_annotations")),
    )
    op.create_index(
        op.f("ix_annotations_round_id_annotator_answered_at"),
        "annotations",
        ["round_id", "annotator", "answered_at"],
    )
    op.create_index(
        "ix_annotations_held",
        "annotations",
        ["round_id", "reserved_until"],
        postgresql_where=sa.text("status <> 'answered'"),
    )


def _of_the_round(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["round_id"], ["annotation_rounds.id"], name=op.f(f"fk_{table}_round_id"), ondelete="CASCADE"
    )
