"""Data tasks: imports, search indexes, reports and other work on data."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Double, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, LeasedRow, one_of


class TaskStatus(StrEnum):
    """The state of a data task."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DataTask(LeasedRow, Base):
    """One task of the data worker. The `queued` rows are the queue."""

    __tablename__ = "data_tasks"
    __table_args__ = (
        CheckConstraint(one_of("status", TaskStatus), name="status"),
        CheckConstraint("(status = 'running') = (lease_expires_at IS NOT NULL)", name="lease_while_running"),
        CheckConstraint("(status = 'running') = (worker_id IS NOT NULL)", name="worker_while_running"),
        CheckConstraint(
            "(status IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)", name="finished_when_over"
        ),
        CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="failed_says_why"),
        Index(None, "owner_id", "created_at", "id"),
        Index("ix_data_tasks_queue", "created_at", postgresql_where=text("status = 'queued'")),
        Index("ix_data_tasks_ended", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
        Index("ix_data_tasks_leases", "lease_expires_at", postgresql_where=text("status = 'running'")),
    )

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    kind: Mapped[str]
    """Selects the handler in the data worker."""
    args: Mapped[dict[str, Any]]
    """Arguments of the handler. `dataset`: the dataset that lists the task. `version`: the version that fails with it."""
    progress: Mapped[float] = mapped_column(Double, default=0, server_default="0")
    """From 0 to 1."""
    note: Mapped[str] = mapped_column(default="", server_default="")
    """The present step, for people."""
    attempt: Mapped[int] = mapped_column(default=0, server_default="0")
    error: Mapped[dict[str, Any] | None]
    """`{code, message, …}` of a failed task."""
    finished_at: Mapped[datetime | None]
