from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt


class Checkpoint(Base):
    """A saved model folder, in the blob store under `blob_prefix`."""

    __tablename__ = "checkpoints"
    __table_args__ = (UniqueConstraint("job_id", "path"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    stage: Mapped[str]
    step: Mapped[int]
    final: Mapped[bool]
    best: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    """Of its stage (and seed), the one with the best held-out win rate so far."""
    seed: Mapped[int | None]
    """Of a job of several seeds, the one that it belongs to; none: the job's own."""
    path: Mapped[str | None]
    """Its folder within the run's. None once the run has put another in its place: kept for a job that needs it."""
    metrics: Mapped[dict[str, Any]]
    files: Mapped[list[dict[str, Any]]]
    """`[{path, bytes, sha256}]`, paths relative to the folder."""
    bytes: Mapped[int]
    blob_prefix: Mapped[str]
    created_at: Mapped[CreatedAt]
