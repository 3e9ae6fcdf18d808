from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Double, ForeignKey, Index, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class AnnotationStatus(StrEnum):
    """What an annotator has done with an item."""

    OPEN = "open"
    """Handed out, or taken back; not answered."""
    ANSWERED = "answered"
    SKIPPED = "skipped"


class Annotation(Base):
    """An item that was handed to an annotator, and what they said. One a person and item, whatever happens."""

    __tablename__ = "annotations"
    __table_args__ = (
        CheckConstraint(one_of("status", AnnotationStatus), name="status"),
        CheckConstraint("status <> 'answered' OR choice IN ('a', 'b', 'tie') OR ranks IS NOT NULL", name="answered"),
        CheckConstraint("(status = 'open') = (answered_at IS NULL)", name="answered_at"),
        Index(None, "round_id", "annotator", "answered_at"),
        Index("ix_annotations_held", "round_id", "reserved_until", postgresql_where=text("status <> 'answered'")),
    )

    item_id: Mapped[str] = mapped_column(ForeignKey("annotation_items.id", ondelete="CASCADE"), primary_key=True)
    annotator: Mapped[str] = mapped_column(primary_key=True)
    """The name that they go by."""
    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"))
    gold: Mapped[bool]
    """Whether the item is a gold question."""
    status: Mapped[str]
    choice: Mapped[str | None]
    """Of a pair, in true positions: a, b, tie; or skip. Kept when it is taken back, to be shown again."""
    ranks: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """Of a ranking, in true positions: 1 is the best, equal ones are ties, no gaps."""
    shown: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Which completion (from 0) stood at each place that was seen."""
    seconds: Mapped[float | None] = mapped_column(Double)
    """How long they took."""
    handed_at: Mapped[datetime]
    reserved_until: Mapped[datetime]
    """Until then, and while it is not answered, the item has a place for this annotator."""
    answered_at: Mapped[datetime | None]


class AnnotationItem(Base):
    """A prompt with the completions that are to be compared."""

    __tablename__ = "annotation_items"
    __table_args__ = (
        UniqueConstraint("round_id", "number"),
        CheckConstraint("cardinality(completions) BETWEEN 2 AND 9", name="completions"),
        CheckConstraint("answers >= 0", name="answers"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Its place in the round, from 1."""
    prompt: Mapped[Any] = mapped_column(JSONB, nullable=False)
    """Text, or messages."""
    completions: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """In true order: A, B, …"""
    policies: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """Which of the round's policies each is from."""
    finished: Mapped[list[bool] | None] = mapped_column(ARRAY(Boolean))
    """Which of them ended by themselves; the others were cut off at `max_new_tokens`. Null for the rows of a dataset."""
    gold: Mapped[dict[str, Any] | None]
    """The known answer, `{"choice": "a"}` or `{"ranks": [1, 2]}`; null for what is being asked."""
    source: Mapped[str | None]
    """The note that its row had, kept for the rows that come of it."""
    row: Mapped[int | None]
    """Of the source's row, its number."""
    answers: Mapped[int] = mapped_column(default=0, server_default="0")
    """How many annotators have answered; written under the row's lock, with the answer."""
    scores: Mapped[list[float | None] | None] = mapped_column(ARRAY(Double))
    """By the round's reward model, of each completion; null where it is too long for it."""


class AnnotationPin(Base):
    """A checkpoint that a round is about to be sampled or scored with: it is not pruned meanwhile."""

    __tablename__ = "annotation_pins"

    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"), primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(
        ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    purpose: Mapped[str] = mapped_column(primary_key=True)
    """`items` or `scores`."""


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
