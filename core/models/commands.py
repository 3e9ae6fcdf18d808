"""Commands to running jobs: changes of live knobs, and requested evaluations and checkpoints."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, one_of


class CommandStatus(StrEnum):
    """The state of a command."""

    PENDING = "pending"
    """The trainer has not taken it up yet."""
    APPLIED = "applied"
    """Carried out between two steps. A run that resumes from an earlier checkpoint repeats it at the same step."""
    REFUSED = "refused"
    """The trainer refused it, with a reason."""


class JobCommand(Base):
    """One command. Only its status, `step`, `value_before`, `reason` and `settled_at` change, once."""

    __tablename__ = "job_commands"
    __table_args__ = (
        CheckConstraint(one_of("status", CommandStatus), name="status"),
        CheckConstraint("(status = 'pending') = (settled_at IS NULL)", name="settled_unless_pending"),
        Index(None, "job_id", "created_at", "id"),
        Index("ix_job_commands_pending", "job_id", postgresql_where=text("status = 'pending'")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    stage: Mapped[str]
    """The stage that it is meant for."""
    name: Mapped[str]
    """The knob or the action."""
    value: Mapped[float | None]
    """The new value; null for an action."""
    value_before: Mapped[float | None]
    """The value that it replaced; null until it is applied."""
    status: Mapped[str] = mapped_column(default=CommandStatus.PENDING.value)
    step: Mapped[int | None]
    """Steps of the stage that were done when the trainer took it up."""
    reason: Mapped[str | None]
    """Why it was refused."""
    actor: Mapped[dict[str, Any]]
    """Who requested it, as in the job's events."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    """Commands are carried out in this order."""
    settled_at: Mapped[datetime | None]
