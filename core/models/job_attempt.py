from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class Outcome(StrEnum):
    """How an attempt ended."""

    FINISHED = "finished"
    """The job reached its end."""
    RELEASED = "released"
    """The worker gave the job back, saved."""
    LOST = "lost"
    """The worker stopped giving signs of life."""


class JobAttempt(Base):
    """One worker's try at a job."""

    __tablename__ = "job_attempts"
    __table_args__ = (
        CheckConstraint(one_of("outcome", Outcome), name="outcome"),
        CheckConstraint("(outcome IS NULL) = (ended_at IS NULL)", name="ended_with_an_outcome"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    worker_id: Mapped[str]
    started_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    log_offset: Mapped[int] = mapped_column(default=0, server_default="0")
    """How many bytes of the trainer's event log are stored: written with the events, so that none is stored twice."""
