from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class Checkpoint(Base):
    """A saved model folder, in the blob store under `blob_prefix`."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("job_id", "stage", "step", "final"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    stage: Mapped[str]
    step: Mapped[int]
    final: Mapped[bool]
    metrics: Mapped[dict[str, Any]]
    files: Mapped[list[dict[str, Any]]]
    """`[{path, bytes, sha256}]`, paths relative to the folder."""
    bytes: Mapped[int]
    blob_prefix: Mapped[str]
    created_at: Mapped[CreatedAt]
