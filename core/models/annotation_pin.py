from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class AnnotationPin(Base):
    """A checkpoint that a round is about to be sampled or scored with: it is not pruned meanwhile."""

    __tablename__ = "annotation_pins"

    round_id: Mapped[str] = mapped_column(ForeignKey("annotation_rounds.id", ondelete="CASCADE"), primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(
        ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    purpose: Mapped[str] = mapped_column(primary_key=True)
    """`items` or `scores`."""
