"""Annotation rounds: items, annotations, and the checkpoints that a round keeps."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Double, ForeignKey, Index, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, CreatedBy, one_of


class AnnotationStatus(StrEnum):
    """The state of an annotation."""

    OPEN = "open"
    """Handed out, or undone; not answered."""
    ANSWERED = "answered"
    SKIPPED = "skipped"


class Annotation(Base):
    """An item that was handed to an annotator, with their answer. One row per annotator and item."""

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
    """Name of the annotator."""
    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"))
    gold: Mapped[bool]
    """Whether the item is a gold question."""
    status: Mapped[str]
    choice: Mapped[str | None]
    """Answer to a pair, in stored order: a, b, tie or skip. Kept after an undo, to be shown again."""
    ranks: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """Answer to a ranking, in stored order: 1 is the best, equal numbers are ties, no gaps."""
    shown: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Index (from 0) of the completion at each position on the screen."""
    seconds: Mapped[float | None] = mapped_column(Double)
    """Time from handing out to the answer."""
    handed_at: Mapped[datetime]
    reserved_until: Mapped[datetime]
    """Until then, and while it is unanswered, the item is reserved for this annotator."""
    answered_at: Mapped[datetime | None]


class AnnotationItem(Base):
    """A prompt with the completions to compare."""

    __tablename__ = "annotation_items"
    __table_args__ = (
        UniqueConstraint("round_id", "number"),
        CheckConstraint("cardinality(completions) BETWEEN 2 AND 9", name="completions"),
        CheckConstraint("answers >= 0", name="answers"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Its number in the round, from 1."""
    prompt: Mapped[Any] = mapped_column(JSONB, nullable=False)
    """Text, or messages."""
    completions: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """In stored order: A, B, …"""
    policies: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """For each completion, the index of its policy in the round."""
    finished: Mapped[list[bool] | None] = mapped_column(ARRAY(Boolean))
    """For each completion, whether it ended before `max_new_tokens`. Null for rows of a dataset."""
    gold: Mapped[dict[str, Any] | None]
    """Known answer of a gold question, `{"choice": "a"}` or `{"ranks": [1, 2]}`; null for other items."""
    source: Mapped[str | None]
    """The `source` note of its row, copied to the rows that are made of the answers."""
    row: Mapped[int | None]
    """Number of its row in the source."""
    answers: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of answers, written with the answer under the row's lock."""
    scores: Mapped[list[float | None] | None] = mapped_column(ARRAY(Double))
    """Score of each completion by the round's reward model; null where it is too long for the model."""


class AnnotationPin(Base):
    """A checkpoint that is about to sample or score a round. It is not pruned meanwhile."""

    __tablename__ = "annotation_pins"

    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"), primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(
        ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    purpose: Mapped[str] = mapped_column(primary_key=True)
    """`items` or `scores`."""


class RoundKind(StrEnum):
    """The question of an item."""

    PAIRS = "pairs"
    """Which of two completions is better."""
    RANKING = "ranking"
    """The order of two to nine completions."""


class RoundStatus(StrEnum):
    """The state of a round."""

    PREPARING = "preparing"
    """Its items are being made."""
    OPEN = "open"
    PAUSED = "paused"
    """Nothing is handed out."""
    CLOSING = "closing"
    """Its answers are being written into a dataset version."""
    CLOSED = "closed"
    """Its answers are a dataset version; the round never changes again."""
    FAILED = "failed"
    """Its items could not be made."""


class AnnotationRound(Base):
    """A set of items that people compare, and the dataset that their answers become."""

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
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    name: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str]
    instructions: Mapped[str]
    source: Mapped[dict[str, Any]]
    """The source in the form of `core.annotation.spec`, with datasets as `ds_…@n`."""
    policies: Mapped[list[dict[str, Any]] | None]
    """`[{checkpoint, model, job, stage, step, seed}]` of a round of completions; items refer to it by index."""
    gold: Mapped[str | None]
    """Dataset of the gold questions, as `ds_…@n`."""
    gold_share: Mapped[float] = mapped_column(Double)
    overlap: Mapped[int]
    reservation_minutes: Mapped[float] = mapped_column(Double)
    salt: Mapped[str] = mapped_column(server_default=text("gen_random_uuid()::text"))
    """Secret. With item and annotator it decides the positions on the screen and when a gold question comes."""
    left_out: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of rows or prompts that were drawn, but could not become an item."""
    task_id: Mapped[str | None]
    """The data task that makes the items or writes the dataset. No foreign key, since old tasks are deleted."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of the last error."""
    reward_model: Mapped[str | None]
    """The checkpoint that scores the items."""
    scores_task_id: Mapped[str | None]
    """The data task that computes the scores."""
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))
    """The dataset that received the answers."""
    version: Mapped[int | None]
    """Number of the version that received the answers."""
    jobs: Mapped[list[str]] = mapped_column(ARRAY(Text), default=list, server_default="{}")
    """Jobs that were continued with this round."""
    created_at: Mapped[CreatedAt]
    closed_at: Mapped[datetime | None]
