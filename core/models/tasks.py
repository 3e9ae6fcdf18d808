from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Double, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class TaskStatus(StrEnum):
    """Where a data task is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DataTask(Base):
    """Something to be done to data: an import, an index, a report. A `queued` row is the queue, as with jobs."""

    __tablename__ = "data_tasks"
    __table_args__ = (
        CheckConstraint(one_of("status", TaskStatus), name="status"),
        CheckConstraint("(status = 'running') = (lease_expires_at IS NOT NULL)", name="lease_while_running"),
        CheckConstraint("(status = 'running') = (worker_id IS NOT NULL)", name="worker_while_running"),
        CheckConstraint(
            "(status IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)", name="finished_when_over"
        ),
        CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="failed_says_why"),
        Index(None, "owner_id", "created_at", "id"),
        Index("ix_data_tasks_queue", "created_at", postgresql_where=text("status = 'queued'")),
        Index("ix_data_tasks_leases", "lease_expires_at", postgresql_where=text("status = 'running'")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    kind: Mapped[str]
    """Which handler of the data worker does it."""
    args: Mapped[dict[str, Any]]
    """What the handler is told. `dataset`: whose list of tasks it stands in; `version`: which fails with it."""
    status: Mapped[str]
    progress: Mapped[float] = mapped_column(Double, default=0, server_default="0")
    """From 0 to 1."""
    note: Mapped[str] = mapped_column(default="", server_default="")
    """What it is at, for people."""
    attempt: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of the newest try; a write that carries another is refused."""
    worker_id: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    error: Mapped[dict[str, Any] | None]
    """`{code, message, …}` of one that failed."""
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
