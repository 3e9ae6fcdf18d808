"""Console output of attempts, and measurements of their machines."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, false
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, one_of


class LogSource(StrEnum):
    """The program that wrote a line."""

    TRAINER = "trainer"
    """The trainer: its processes, or the launcher that started them."""
    WORKER = "worker"
    """The worker that ran the attempt."""


class JobLogChunk(Base):
    """Consecutive lines of one process. Line numbers count over all attempts of the job, and are its cursor."""

    __tablename__ = "job_log_chunks"
    __table_args__ = (
        CheckConstraint(one_of("source", LogSource), name="source"),
        CheckConstraint("lines > 0", name="has_lines"),
        Index(None, "job_id", "attempt", "first_line"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    first_line: Mapped[int] = mapped_column(primary_key=True)
    """Number of the first line, from 1."""
    lines: Mapped[int]
    attempt: Mapped[int]
    at: Mapped[datetime]
    """When the worker read the lines, by its clock."""
    source: Mapped[str]
    machine: Mapped[int]
    """Number of the machine among those of the run; 0 is the worker's."""
    rank: Mapped[int | None]
    """Number of the process among those of the run; null for the worker and for launchers."""
    text: Mapped[str]
    """The lines, separated by line feeds."""
    bytes: Mapped[int]
    """Size that counts toward the limit of the attempt."""
    dropped_bytes: Mapped[int] = mapped_column(default=0, server_default="0")
    """Bytes of output that were dropped before this chunk."""
    beginning: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether it belongs to the beginning of the attempt's output, which is never dropped."""


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
