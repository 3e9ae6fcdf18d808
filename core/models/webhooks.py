"""Webhooks: where a project's events are sent, the deliveries, and the tries of each delivery.

The rows of deliveries are the outbox: the transaction of a change inserts them. `core.webhooks` has the rules.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Identity, Index, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, CreatedBy, one_of


class WebhookFormat(StrEnum):
    """The form of a payload."""

    STANDARD = "standard"
    """`{type, timestamp, data}`, as Standard Webhooks describes it."""
    SLACK = "slack"
    """`{text}`, for incoming webhooks of Slack, Mattermost and other chats."""


class DeliveryStatus(StrEnum):
    """The state of a delivery."""

    PENDING = "pending"
    """It waits for its first try or for another one."""
    DELIVERED = "delivered"
    """The receiver accepted it."""
    FAILED = "failed"
    """It was given up after the last try."""


class Webhook(Base):
    """An address that receives events of a project."""

    __tablename__ = "webhooks"
    __table_args__ = (
        CheckConstraint(one_of("format", WebhookFormat), name="format"),
        CheckConstraint("disabled_reason IS NULL OR NOT enabled", name="reason_while_disabled"),
        CheckConstraint(
            "(previous_secret IS NULL) = (previous_secret_until IS NULL)", name="previous_secret_has_an_end"
        ),
        Index(None, "owner_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    """Begins with `whk_`."""
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    url: Mapped[str]
    description: Mapped[str]
    event_types: Mapped[list[str]] = mapped_column(JSONB)
    """The values of `core.webhooks.event_types.EventType` that it receives."""
    format: Mapped[WebhookFormat] = mapped_column(Text)
    enabled: Mapped[bool]
    disabled_reason: Mapped[str | None]
    """Why the platform disabled it. Null: it is enabled, or a person disabled it."""
    failing_since: Mapped[datetime | None]
    """The first failed try since the last success; null after a success."""
    secret: Mapped[str]
    """The key of its signatures. It cannot be a hash, because the sender signs with it."""
    previous_secret: Mapped[str | None]
    """The secret before the last rotation, which signs as well until `previous_secret_until`."""
    previous_secret_until: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]


class WebhookDelivery(Base):
    """One event for one webhook."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        CheckConstraint(one_of("status", DeliveryStatus), name="status"),
        CheckConstraint("(status = 'pending') = (finished_at IS NULL)", name="finished_when_over"),
        Index(None, "webhook_id", "created_at", "id"),
        Index(
            "ix_webhook_deliveries_order",
            "webhook_id",
            "subject",
            "number",
            postgresql_where=text("status = 'pending'"),
        ),
        Index("ix_webhook_deliveries_due", "next_at", postgresql_where=text("status = 'pending'")),
        Index("ix_webhook_deliveries_created_at", "created_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    """Begins with `msg_`. It is the header `webhook-id` of every try."""
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    number: Mapped[int] = mapped_column(Identity())
    """Rises in the order of the events of one job, since each event is inserted with the job's row locked."""
    event_type: Mapped[str]
    subject: Mapped[str]
    """The job or dataset of the event. Its deliveries to a webhook are sent one after the other."""
    body: Mapped[str]
    """The payload, exactly as it is signed and sent."""
    status: Mapped[DeliveryStatus] = mapped_column(Text)
    tries: Mapped[int]
    """Tries so far. It identifies the lease of a try: the result of an older one is refused."""
    tries_before: Mapped[int]
    """Tries before the last replay, which do not count towards the limit."""
    next_at: Mapped[datetime]
    """When the next try is due."""
    lease_expires_at: Mapped[datetime | None]
    """Until when a sender holds it; null: no sender does."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    finished_at: Mapped[datetime | None]


class WebhookTry(Base):
    """One request of a delivery."""

    __tablename__ = "webhook_tries"

    delivery_id: Mapped[str] = mapped_column(ForeignKey("webhook_deliveries.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """From 1."""
    started_at: Mapped[datetime]
    duration_ms: Mapped[int | None]
    """Null: no result was reported, because the try still runs or its sender was lost."""
    response_status: Mapped[int | None]
    """HTTP status; null without a response."""
    response_body: Mapped[str | None]
    """The beginning of the body."""
    error: Mapped[str | None]
    """Why it failed; null for a success, and for a try without a result."""
