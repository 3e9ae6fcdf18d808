from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class DatasetKind(StrEnum):
    """What the rows of a dataset are."""

    PREFERENCES = "preferences"
    PROMPTS = "prompts"
    SFT = "sft"
    PRETRAINING = "pretraining"


class Dataset(Base):
    """A validated upload. The rows lie in a blob as canonical JSONL."""

    __tablename__ = "datasets"
    __table_args__ = (
        CheckConstraint(one_of("kind", DatasetKind), name="kind"),
        CheckConstraint("rows > 0", name="rows"),
        Index(None, "owner_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    name: Mapped[str]
    kind: Mapped[str]
    rows: Mapped[int]
    bytes: Mapped[int]
    """Size of the stored rows."""
    sha256: Mapped[str]
    """Of the stored rows."""
    blob_key: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[CreatedAt]
