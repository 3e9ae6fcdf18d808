"""Measurements of the machine while an attempt runs."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base


class JobTelemetry(Base):
    """The means of the samples in one bucket of time. A long attempt has wider buckets."""

    __tablename__ = "job_telemetry"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)
    """Start of the bucket, by the worker's clock."""
    seconds: Mapped[float]
    """Width of the bucket; 0 for a single sample."""
    samples: Mapped[int]
    values: Mapped[dict[str, Any]]
    """Mean of each measurement by its name."""
