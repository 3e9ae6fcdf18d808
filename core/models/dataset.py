from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class DatasetKind(StrEnum):
    """What the rows of a dataset are."""

    PREFERENCES = "preferences"
    THUMBS = "thumbs"
    PROMPTS = "prompts"
    SFT = "sft"
    PRETRAINING = "pretraining"


class Dataset(Base):
    """A name under which versions of some data lie. The rows are the versions'."""

    __tablename__ = "datasets"
    __table_args__ = (
        CheckConstraint(one_of("kind", DatasetKind), name="kind"),
        Index(None, "owner_id", "created_at", "id"),
        Index("ix_datasets_expires_at", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    name: Mapped[str]
    kind: Mapped[str]
    created_at: Mapped[CreatedAt]
    archived_at: Mapped[datetime | None]
    """Left out of lists since then."""
    expires_at: Mapped[datetime | None]
    """When the sweeper may delete it, unless an unfinished job needs it. None: never."""
