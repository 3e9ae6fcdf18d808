from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class JobEvent(Base):
    """What a job said, in order and for good. `seq` is the cursor of the events list and the id of the stream."""

    __tablename__ = "job_events"
    __table_args__ = (
        Index("ix_job_events_samples", "job_id", "stage", "step", "seq", postgresql_where=text("type = 'samples'")),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    type: Mapped[str]
    created_at: Mapped[datetime]
    """When it happened, by the clock of the machine where it happened."""
    stage: Mapped[str | None]
    step: Mapped[int | None]
    data: Mapped[dict[str, Any]]
