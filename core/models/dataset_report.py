from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class DatasetReport(Base):
    """What is good and bad about a version, with one model's tokenizer or without any. The same settings make one report."""

    __tablename__ = "dataset_reports"
    __table_args__ = (UniqueConstraint("version_id", "settings_sha256"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="CASCADE"))
    settings: Mapped[dict[str, Any]]
    settings_sha256: Mapped[str]
    task_id: Mapped[str]
    """The data task that makes it; it tells the progress, and why it failed."""
    result: Mapped[dict[str, Any] | None]
    """None until it is there."""
    created_at: Mapped[CreatedAt]
