from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, one_of


class JobStatus(StrEnum):
    """Where a job is in its life; `core/jobs/state.py` says which way it can go."""

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
    """Written by `core.jobs.state.move` alone."""
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


class JobMetrics(Base):
    """The numbers of one step. A step that is done again after a resume replaces what it left the first time."""

    __tablename__ = "job_metrics"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    stage: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    at: Mapped[datetime]
    values: Mapped[dict[str, Any]]


class JobDataset(Base):
    """Which version of a dataset a job reads, and as what. Goes when the dataset goes; the job's spec still names it."""

    __tablename__ = "job_datasets"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    """The field of the spec's `data` that names it, such as `prompts` or `evaluation_prompts`."""
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="CASCADE"), index=True)


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


class CheckpointPin(Base):
    """A checkpoint that an unfinished job starts from: the database refuses to let it, or its job, be deleted.

    Goes when the job that needs it has ended; that job's spec still names the checkpoint.
    """

    __tablename__ = "checkpoint_pins"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    """The job that needs it."""
    field: Mapped[str] = mapped_column(primary_key=True)
    """Where its spec names it, as JSON pointer: `#/model/path`."""
    checkpoint_id: Mapped[str] = mapped_column(ForeignKey("checkpoints.id", ondelete="RESTRICT"), index=True)


class Worker(Base):
    """A worker that gives signs of life. It leaves when it stops; the sweeper removes it when it falls silent."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(primary_key=True)
    hostname: Mapped[str]
    job_id: Mapped[str | None]
    """What it is working on; no foreign key, since a sign of life must never be refused."""
    started_at: Mapped[CreatedAt]
    last_seen_at: Mapped[datetime]
