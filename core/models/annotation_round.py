from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Double, ForeignKey, Index, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class RoundKind(StrEnum):
    """What is asked of an item."""

    PAIRS = "pairs"
    """Which of two is better."""
    RANKING = "ranking"
    """The order of two to nine."""


class RoundStatus(StrEnum):
    """Where a round is in its life."""

    PREPARING = "preparing"
    """Its items are being made."""
    OPEN = "open"
    PAUSED = "paused"
    """Nothing is handed out."""
    CLOSING = "closing"
    """Its answers are being written into a dataset."""
    CLOSED = "closed"
    """They are a dataset version; nothing changes any more."""
    FAILED = "failed"
    """Its items could not be made."""


class AnnotationRound(Base):
    """A set of items that people compare, and what becomes of their answers."""

    __tablename__ = "annotation_rounds"
    __table_args__ = (
        CheckConstraint(one_of("kind", RoundKind), name="kind"),
        CheckConstraint(one_of("status", RoundStatus), name="status"),
        CheckConstraint("overlap > 0", name="overlap"),
        CheckConstraint("gold_share >= 0 AND gold_share <= 0.5", name="gold_share"),
        CheckConstraint("status <> 'failed' OR error IS NOT NULL", name="failed_says_why"),
        CheckConstraint("(status = 'closed') = (closed_at IS NOT NULL)", name="closed_when_closed"),
        Index(None, "owner_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    name: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str]
    instructions: Mapped[str]
    source: Mapped[dict[str, Any]]
    """`core.annotation.spec`'s description, with datasets as `ds_…@n`."""
    policies: Mapped[list[dict[str, Any]] | None]
    """`[{checkpoint, model, job, stage, step}]` of a round of completions; an item's `policies` count in it."""
    gold: Mapped[str | None]
    """`ds_…@n`, where the gold questions come from."""
    gold_share: Mapped[float] = mapped_column(Double)
    overlap: Mapped[int]
    reservation_minutes: Mapped[float] = mapped_column(Double)
    salt: Mapped[str] = mapped_column(server_default=text("gen_random_uuid()::text"))
    """Decides with item and annotator what stands where, and when a gold question comes; told to nobody."""
    left_out: Mapped[int] = mapped_column(default=0, server_default="0")
    """Rows or prompts that were drawn, but could not become an item."""
    task_id: Mapped[str | None]
    """The data task that makes the items or writes the dataset; no foreign key, since tasks are cleared away."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of what went wrong last."""
    reward_model: Mapped[str | None]
    """The checkpoint whose scores the items have, or are about to have."""
    scores_task_id: Mapped[str | None]
    """The data task that makes them."""
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))
    """The dataset that it was closed into."""
    version: Mapped[int | None]
    """Number of its version there."""
    jobs: Mapped[list[str]] = mapped_column(ARRAY(Text), default=list, server_default="{}")
    """The jobs that went on with it."""
    created_at: Mapped[CreatedAt]
    closed_at: Mapped[datetime | None]
