from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, Double, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, one_of


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
