from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from core.models.base import Base, CreatedAt, one_of
from core.models.dataset import Dataset
from core.models.dataset_content import DatasetContent


class VersionStatus(StrEnum):
    """Whether a version can be used."""

    IMPORTING = "importing"
    """A data task is making it."""
    READY = "ready"
    """Jobs can use it."""
    BLOCKED = "blocked"
    """It has rows, but also a blocking finding that somebody has to decide about."""
    FAILED = "failed"
    """It could not be made; `error` says why."""


class DatasetVersion(Base):
    """Some rows at some time, and where they came from. Immutable once it is no longer importing."""

    __tablename__ = "dataset_versions"
    __table_args__ = (
        CheckConstraint(one_of("status", VersionStatus), name="status"),
        CheckConstraint("(status IN ('ready', 'blocked')) = (sha256 IS NOT NULL)", name="rows_when_done"),
        CheckConstraint("(status = 'ready') = (ready_at IS NOT NULL)", name="ready_at_when_ready"),
        CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="failed_says_why"),
        UniqueConstraint("dataset_id", "number"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="CASCADE"))
    number: Mapped[int]
    """1, 2, … within the dataset."""
    status: Mapped[str]
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("dataset_versions.id", ondelete="SET NULL"), index=True)
    """The version that it was made from."""
    origin: Mapped[dict[str, Any]]
    """`{"type": "upload" | "fix" | "annotation", …}`: how it came about."""
    sha256: Mapped[str | None] = mapped_column(ForeignKey("dataset_contents.sha256"), index=True)
    findings: Mapped[list[dict[str, Any]]]
    """What the import found, in the shape of every finding."""
    left_out: Mapped[int] = mapped_column(default=0, server_default="0")
    """Records of the source that are not among the rows."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message, errors?}` of one that failed."""
    created_at: Mapped[CreatedAt]
    ready_at: Mapped[datetime | None]

    dataset: Mapped[Dataset] = relationship(lazy="joined", innerjoin=True, viewonly=True)
    content: Mapped[DatasetContent | None] = relationship(lazy="joined", viewonly=True)
    """None until its rows are stored."""
