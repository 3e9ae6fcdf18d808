from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class JobStatus(StrEnum):
    """Where a job is in its life; `core/job_state.py` says which way it can go."""

    QUEUED = "queued"
    """Waiting for a worker."""
    STARTING = "starting"
    """A worker has claimed it and is preparing the run."""
    RUNNING = "running"
    """The trainer is at work."""
    PAUSING = "pausing"
    """Asked to pause; the trainer is saving."""
    PAUSED = "paused"
    """Saved and without a worker, until it is queued again."""
    CANCELLING = "cancelling"
    """Asked to cancel; its worker has not let go yet."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.PAUSING, JobStatus.CANCELLING)
"""A worker holds it, by a lease."""
TERMINAL = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED)
"""Nothing will change any more."""


def _in(statuses: tuple[JobStatus, ...]) -> str:
    return f"status IN ({', '.join(repr(status.value) for status in statuses)})"


class Job(Base):
    """One run and what became of it. A `queued` row is the queue; messages only say that it is worth a look."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(one_of("status", JobStatus), name="status"),
        CheckConstraint(f"({_in(ACTIVE)}) = (lease_expires_at IS NOT NULL)", name="lease_while_active"),
        CheckConstraint(f"({_in(ACTIVE)}) = (worker_id IS NOT NULL)", name="worker_while_active"),
        CheckConstraint(f"({_in(TERMINAL)}) = (finished_at IS NOT NULL)", name="finished_when_terminal"),
        CheckConstraint("status <> 'failed' OR error IS NOT NULL", name="failed_says_why"),
        Index(None, "owner_id", "created_at", "id"),
        Index("ix_jobs_queue", "priority", "created_at", postgresql_where=text("status = 'queued'")),
        Index("ix_jobs_leases", "lease_expires_at", postgresql_where=text(_in(ACTIVE))),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    name: Mapped[str]
    spec: Mapped[dict[str, Any]]
    """Resolved: every default filled in."""
    priority: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[CreatedAt]

    status: Mapped[str]
    """Written by `core.job_state.move` alone."""
    status_reason: Mapped[str]
    started_at: Mapped[datetime | None]
    """When the first attempt began."""
    finished_at: Mapped[datetime | None]
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of a failed job."""
    summary: Mapped[dict[str, Any] | None]
    """What the run learnt."""

    attempt: Mapped[int] = mapped_column(default=0)
    """Number of the newest attempt; a write that carries another is refused."""
    worker_id: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    last_seq: Mapped[int] = mapped_column(default=0)
    """Sequence number of the newest event."""

    plan: Mapped[list[dict[str, Any]] | None]
    """`[{stage, total_steps}]`, as the newest attempt announced it."""
    stage: Mapped[str | None]
    step: Mapped[int | None]
    total_steps: Mapped[int | None]
    step_at: Mapped[datetime | None]
    """When `step` was done."""
    step_seconds: Mapped[float | None]
    """Moving average over the steps of this stage, in this attempt."""
    seeds_done: Mapped[int] = mapped_column(default=0, server_default="0")
    """Of a job of several seeds, how many have come to an end."""
