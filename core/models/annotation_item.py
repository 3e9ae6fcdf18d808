from typing import Any

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Double, ForeignKey, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


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
