from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class DatasetRow(Base):
    """What rows are found by. The row itself lies in the content's blob."""

    __tablename__ = "dataset_rows"
    __table_args__ = (
        Index("ix_dataset_rows_search", "search", postgresql_using="gin"),
        Index(None, "sha256", "prompt_hash"),
    )

    sha256: Mapped[str] = mapped_column(ForeignKey("dataset_contents.sha256", ondelete="CASCADE"), primary_key=True)
    row: Mapped[int] = mapped_column(primary_key=True)
    """From 1."""
    search: Mapped[Any] = mapped_column(TSVECTOR)
    """Its texts."""
    prompt_hash: Mapped[int | None]
    """The trainer's hash of its prompt, which decides the split, less 2^63 (Postgres has no unsigned integers). None: it has no prompt."""
