"""projects have webhooks, with an outbox of deliveries and a log of their tries

Revision: c41f7a9e26d3, after 5c0d7e92ab41.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c41f7a9e26d3"
down_revision = "5c0d7e92ab41"

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _create_webhooks()
    _create_deliveries()
    _create_tries()


def downgrade() -> None:
    for table in ("webhook_tries", "webhook_deliveries", "webhooks"):
        op.drop_table(table)


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("event_types", postgresql.JSONB(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("failing_since", TIME, nullable=True),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("previous_secret", sa.Text(), nullable=True),
        sa.Column("previous_secret_until", TIME, nullable=True),
        sa.Column("created_at", TIME, server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("format IN ('standard', 'slack')", name=op.f("ck_webhooks_format")),
        sa.CheckConstraint("disabled_reason IS NULL OR NOT enabled", name=op.f("ck_webhooks_reason_while_disabled")),
        sa.CheckConstraint(
            "(previous_secret IS NULL) = (previous_secret_until IS NULL)",
            name=op.f("ck_webhooks_previous_secret_has_an_end"),
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["owners.id"], name=op.f("fk_webhooks_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_owner_id_created_at_id"), "webhooks", ["owner_id", "created_at", "id"])


def _create_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("tries_before", sa.BigInteger(), nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.Column("lease_expires_at", TIME, nullable=True),
        sa.Column("created_at", TIME, server_default=sa.func.clock_timestamp(), nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("status IN ('pending', 'delivered', 'failed')", name=op.f("ck_webhook_deliveries_status")),
        sa.CheckConstraint(
            "(status = 'pending') = (finished_at IS NULL)", name=op.f("ck_webhook_deliveries_finished_when_over")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_webhook_deliveries_webhook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    pending = {"postgresql_where": sa.text("status = 'pending'")}
    op.create_index(
        op.f("ix_webhook_deliveries_webhook_id_created_at_id"), "webhook_deliveries", ["webhook_id", "created_at", "id"]
    )
    op.create_index("ix_webhook_deliveries_order", "webhook_deliveries", ["webhook_id", "subject", "number"], **pending)
    op.create_index("ix_webhook_deliveries_due", "webhook_deliveries", ["next_at"], **pending)
    op.create_index("ix_webhook_deliveries_created_at", "webhook_deliveries", ["created_at"])


def _create_tries() -> None:
    op.create_table(
        "webhook_tries",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("response_status", sa.BigInteger(), nullable=True),
        sa.Column("response_body", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["webhook_deliveries.id"],
            name=op.f("fk_webhook_tries_delivery_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("delivery_id", "number", name=op.f("pk_webhook_tries")),
    )
