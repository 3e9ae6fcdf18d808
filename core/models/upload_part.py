from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class UploadPart(Base):
    """A part that has arrived. Its bytes are a blob (core/uploads/parts.py) and never change."""

    __tablename__ = "upload_parts"
    __table_args__ = (CheckConstraint("number > 0 AND bytes > 0", name="numbers"),)

    upload_id: Mapped[str] = mapped_column(ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bytes: Mapped[int]
