"""Jobs: rows, attempts, events, metrics, datasets and checkpoints."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    Index,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from core.models.base import Base, CreatedAt, CreatedBy, LeasedRow, one_of


class JobStatus(StrEnum):
    """The state of a job."""  # core/jobs/lifecycle/state.py has the table of transitions

    QUEUED = "queued"
    """Waiting for a worker."""
    STARTING = "starting"
    """A worker has claimed it and is preparing the run."""
    RUNNING = "running"
    """The trainer runs."""
    PAUSING = "pausing"
    """A pause was requested; the worker still holds the job."""
    PAUSED = "paused"
    """Without a worker, until a user resumes it from its last checkpoint."""
    CANCELLING = "cancelling"
    """A cancel was requested; the worker still holds the job."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = (JobStatus.STARTING, JobStatus.RUNNING, JobStatus.PAUSING, JobStatus.CANCELLING)
"""States in which a worker holds the job by a lease."""
TERMINAL = (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED)
"""States of a job whose run has ended. Nothing happens until a user makes a request, such as a retry of a failed job."""


class Relation(StrEnum):
    """How a job was made from another one."""

    CLONE = "clone"
    """With its spec, from the beginning."""
    BRANCH = "branch"
    """From one of its checkpoints, with a changed spec."""
    EXTEND = "extend"
    """From its last stored state of PPO, with more steps."""
    CONTINUE = "continue"
    """From its policy, with its reward model refitted on the answers of an annotation round."""


def _in(statuses: tuple[JobStatus, ...]) -> str:
    return f"status IN ({', '.join(repr(status.value) for status in statuses)})"


_SEARCHED = (
    "(((to_tsvector('simple'::regconfig, name) || to_tsvector('simple'::regconfig, notes))"
    " || to_tsvector('simple'::regconfig, tags)) || array_to_tsvector(ARRAY[id]))"
)
"""The words of a job, and its id as one word. The configuration `simple` keeps every word of every language."""
SCORE = "objective/scores"
"""The score in PPO. Its sparkline has the mean over seeds while they run."""
_REWARD = "((reward_line #>> '{buckets,-1,1}'::text[]))::double precision"
_KL = "(COALESCE((summary ->> 'kl'::text), (latest_metrics ->> 'objective/kl'::text)))::double precision"
_WIN_RATE = "((summary ->> 'win_rate'::text))::double precision"
_QUEUE_ORDER = ("owner_id", "priority", "requirement", "created_at", "id")


class Job(LeasedRow, Base):
    """One run. The `queued` rows are the queue; a message only wakes a worker."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(one_of("status", JobStatus), name="status"),
        CheckConstraint(f"({_in(ACTIVE)}) = (lease_expires_at IS NOT NULL)", name="lease_while_active"),
        CheckConstraint(f"({_in(ACTIVE)}) = (worker_id IS NOT NULL)", name="worker_while_active"),
        CheckConstraint(f"({_in(TERMINAL)}) = (finished_at IS NOT NULL)", name="finished_when_terminal"),
        CheckConstraint("status <> 'failed' OR error IS NOT NULL", name="failed_says_why"),
        Index(None, "owner_id", "created_at", "id"),
        Index(None, "owner_id", "status", "created_at", "id"),
        Index(None, "owner_id", "model", "created_at", "id"),
        Index(
            "ix_jobs_external_id",
            "owner_id",
            "external_id",
            unique=True,
            postgresql_where=text("external_id IS NOT NULL"),
        ),
        Index("ix_jobs_parent", text("(parent ->> 'job')"), postgresql_where=text("parent IS NOT NULL")),
        Index("ix_jobs_tagged", "owner_id", postgresql_where=text("tags <> '[]'")),
        Index("ix_jobs_tags", "tags", postgresql_using="gin", postgresql_ops={"tags": "jsonb_path_ops"}),
        Index("ix_jobs_search", "search_vector", postgresql_using="gin"),
        Index("ix_jobs_health", "owner_id", "health", "created_at", "id", postgresql_where=text("health IS NOT NULL")),
        Index("ix_jobs_queue", *_QUEUE_ORDER, postgresql_where=text("status = 'queued'")),
        Index("ix_jobs_leases", "lease_expires_at", postgresql_where=text(_in(ACTIVE))),
    )

    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    created_by: Mapped[CreatedBy]
    name: Mapped[str]
    external_id: Mapped[str | None]
    """The id that its owner gave it; unique per owner."""
    tags: Mapped[list[str]] = mapped_column(JSONB(none_as_null=True), default=list, server_default=text("'[]'"))
    """Short labels, as core/jobs/lifecycle/descriptions.py normalises them."""
    notes: Mapped[str] = mapped_column(default="", server_default="")
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict, server_default=text("'{}'"))
    """Texts by key, for programs."""
    model: Mapped[str | None] = mapped_column(
        Computed("\"left\"((spec #>> '{model,path}'::text[]), 400)", persisted=True)
    )
    """The beginning of `model.path` of the spec, for the index; null for a new model."""
    search_vector: Mapped[str] = mapped_column(TSVECTOR, Computed(_SEARCHED, persisted=True), deferred=True)
    """The words that the list is searched for."""
    spec: Mapped[dict[str, Any]]
    """The spec with every default filled in. It never changes."""
    parent: Mapped[dict[str, Any] | None]
    """`{job, relation, name}` of a job that was made from another one. The other job may be deleted, so `name` is kept.

    All but a clone have `{checkpoint, stage, step, final, seed}`. A branch also has `{carried, folders, stages}`. `folders` are
    the ids of the checkpoints that it starts from, by folder within the run folder. `stages` describes those that it does not
    run again. A job that continues a round has `{round, round_name}`.
    """
    priority: Mapped[int] = mapped_column(default=0, server_default="0")
    """Priority class: -1 low, 0 normal, 1 high."""
    preemptible: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    """Whether the platform may pause it for a more urgent job, and queue it again."""
    preempting: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    """Whether it returns to the queue at the end of the pause that is requested."""
    preempted: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often it was preempted. Each time protects its later attempts for longer."""
    requirement: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The resources that it needs, as `core.scheduling.matching.Requirement.stored` writes them."""
    slots: Mapped[int] = mapped_column(default=1, server_default="1")
    """GPUs that it takes, or processes on workers without a GPU."""
    queued_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When it was queued last."""

    status: Mapped[str]
    """Written by `core.jobs.lifecycle.state.change_status`, and by the SQL of a claim."""
    status_reason: Mapped[str]
    waits_because: Mapped[str | None]
    """Why its trainer has not started yet, or waits to start again, by the engine of its worker; null otherwise."""
    finished_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    """Since when lists leave it out; null for a job that they show."""
    metrics_thinned_at: Mapped[datetime | None]
    """When core/jobs/run/thinning.py last deleted exact steps; null if the metrics have every step."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of a failed job."""
    summary: Mapped[dict[str, Any] | None]
    """Final figures of the run."""

    last_seq: Mapped[int] = mapped_column(default=0)
    """Sequence number of the newest event."""

    plan: Mapped[list[dict[str, Any]] | None]
    """`[{stage, total_steps}]` of the newest attempt."""
    stage: Mapped[str | None]
    step: Mapped[int | None]
    total_steps: Mapped[int | None]
    step_at: Mapped[datetime | None]
    """When `step` ended."""
    step_seconds: Mapped[float | None]
    """Seconds per step: moving average over the steps of this stage in this attempt."""
    forgiven_attempts: Mapped[int] = mapped_column(default=0, server_default="0")
    """Attempts up to this number do not count towards the limit of lost attempts: a user has looked at the job since."""
    seeds_done: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of finished seeds of a job with several seeds."""
    seed: Mapped[int | None]
    """The seed that runs or ran last, in a job with several seeds; its stage and steps are those above. Null with one seed."""
    seed_seconds: Mapped[float | None]
    """Mean duration of the finished seeds that did not fail; null with one seed."""
    latest_metrics: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The newest value of each metric of the current stage. After several seeds, the mean over them."""
    earlier_metrics: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The last value of each metric of the stages before. After several seeds, the mean over them."""
    reward_line: Mapped[dict[str, Any] | None]
    """The sparkline of the reward, as core/jobs/run/sparkline.py keeps it; the mean over several seeds."""

    # The list is sorted by these columns. Most change with every step, and an index would be written each time.
    submitted_by: Mapped[str | None]
    """Name of the API key at the submission; null if no key was used."""
    fraction: Mapped[float | None]
    """Completed share of the run, as core/jobs/run/progress.py estimates it; null before the first stage."""
    reward: Mapped[float | None] = mapped_column(Computed(_REWARD, persisted=True))
    """The last mean of `reward_line`."""
    kl: Mapped[float | None] = mapped_column(Computed(_KL, persisted=True))
    """KL of the result; without one, of the newest step."""
    win_rate: Mapped[float | None] = mapped_column(Computed(_WIN_RATE, persisted=True))
    """The win rate of the result."""
    health: Mapped[str | None]
    """Severity of the gravest of its findings (`job_findings`); null without one."""
    gpu_seconds: Mapped[float] = mapped_column(default=0.0, server_default="0")
    """GPU-seconds of its ended attempts: wall time by the slots that they took."""


queue_lines = Table(
    "queue_lines",
    Base.metadata,
    Column("owner_id", Text, ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True),
    Column("priority", BigInteger, primary_key=True),
    Column("requirement", JSONB(none_as_null=True), primary_key=True),
    Column("waits_since", DateTime(timezone=True), nullable=False),
    Column("oldest", DateTime(timezone=True), nullable=False),
)
"""The lines of the queue. A line is the queued jobs of an owner with one priority and one requirement.

`waits_since` is when its first job was queued or a job of it was claimed last, whichever is later. `oldest` is when that
job was submitted.

It is a plain table because a dict in the primary key has no hash, which the mapper needs.
"""


class Outcome(StrEnum):
    """How an attempt ended."""

    FINISHED = "finished"
    """The job reached its end."""
    RELEASED = "released"
    """The worker gave the job back, saved."""
    LOST = "lost"
    """The worker stopped renewing the lease."""


class JobAttempt(Base):
    """One attempt at a job, by one worker."""

    __tablename__ = "job_attempts"
    __table_args__ = (
        CheckConstraint(one_of("outcome", Outcome), name="outcome"),
        CheckConstraint("(outcome IS NULL) = (ended_at IS NULL)", name="ended_with_an_outcome"),
        Index("ix_job_attempts_finished", "ended_at", postgresql_where=text("outcome = 'finished'")),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    worker_id: Mapped[str]
    started_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    slots: Mapped[int] = mapped_column(default=1, server_default="1")
    """GPUs that it took, or processes on a worker without a GPU. Its use is `slots` times its wall seconds."""
    log_offset: Mapped[int] = mapped_column(default=0, server_default="0")
    """Bytes of the trainer's event log that are stored. Written with the events, so that no event is stored twice."""
    console_bytes: Mapped[int] = mapped_column(default=0, server_default="0")
    """Size of the attempt's stored console output, as `core.jobs.run.logs` counts it."""


class JobEvent(Base):
    """One event of a job, never changed. `seq` is the cursor of the events list and the id in the event stream."""

    __tablename__ = "job_events"
    __table_args__ = (
        Index("ix_job_events_types", "job_id", "type", "seq"),
        Index("ix_job_events_samples", "job_id", "stage", "step", "seq", postgresql_where=text("type = 'samples'")),
        Index("ix_job_events_seeds", "job_id", "seed", "seq", postgresql_where=text("seed IS NOT NULL")),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    type: Mapped[str]
    created_at: Mapped[datetime]
    """Time of the event by the clock of its machine."""
    seed: Mapped[int | None]
    """The seed that it belongs to, in a job with several seeds; null for the whole job, and with one seed."""
    stage: Mapped[str | None]
    step: Mapped[int | None]
    data: Mapped[dict[str, Any]]


class JobSeed(Base):
    """One seed of a job with several: how far it has come, and its result. A job with one seed has no such rows."""

    __tablename__ = "job_seeds"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seed: Mapped[int] = mapped_column(primary_key=True)
    stage: Mapped[str | None]
    step: Mapped[int | None]
    total_steps: Mapped[int | None]
    latest_metrics: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The newest value of each metric of its stage."""
    earlier_metrics: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    """The last value of each metric of the stages before."""
    reward_line: Mapped[dict[str, Any] | None]
    """Its sparkline of the reward, as core/jobs/run/sparkline.py keeps it."""
    seconds: Mapped[float | None]
    """Duration of its run; null until it is done."""
    summary: Mapped[dict[str, Any] | None]
    """Its final figures, empty if it failed; null until it is done."""
    why_collapsed: Mapped[str | None]
    """How it collapsed or failed, in a sentence; null if it did not, or is not done."""


class JobMetrics(Base):
    """The metrics of one step. A step repeated after a resume replaces its earlier metrics, and those of later steps."""

    __tablename__ = "job_metrics"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seed_index: Mapped[int] = mapped_column(SmallInteger, primary_key=True, default=0, server_default="0")
    """Its seed minus the first seed of the job: 0 in a job with one seed."""
    stage: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    at: Mapped[datetime]
    values: Mapped[dict[str, Any]]


class JobMetricChunk(Base):
    """Buckets of one metric over a range of steps: core/jobs/run/rollups.py. The arrays have an element for each bucket with points.

    The rows follow from `job_metrics`, and are never changed: a rewind deletes them.
    """

    __tablename__ = "job_metric_chunks"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seed_index: Mapped[int] = mapped_column(SmallInteger, primary_key=True, default=0, server_default="0")
    """The key of its seed, which is that of `job_metrics`."""
    stage: Mapped[str] = mapped_column(primary_key=True)
    level: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    """The width of a bucket is 4^level steps."""
    chunk: Mapped[int] = mapped_column(primary_key=True)
    """The number of the chunk: it holds the steps from `chunk` × 32 × 4^level on."""
    name: Mapped[str] = mapped_column(primary_key=True)
    """The metric."""
    steps: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """The last step of each bucket that has this metric."""
    last: Mapped[list[float]] = mapped_column(ARRAY(Double))
    """The value at that step."""
    min: Mapped[list[float]] = mapped_column(ARRAY(Double))
    max: Mapped[list[float]] = mapped_column(ARRAY(Double))
    mean: Mapped[list[float]] = mapped_column(ARRAY(Double))
    n: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    """Number of points."""


class JobDataset(Base):
    """A dataset version that a job reads. Deleted with the dataset; the job's spec still names the version."""

    __tablename__ = "job_datasets"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    """The field of the spec's `data` that names the version, such as `prompts` or `evaluation_prompts`."""
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="CASCADE"), index=True)


class Checkpoint(Base):
    """A saved model folder, in the blob store under `blob_prefix`."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        UniqueConstraint("job_id", "path"),
        CheckConstraint("(damage IS NULL) = (damaged_at IS NULL)", name="damage_has_a_time"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    stage: Mapped[str]
    step: Mapped[int]
    final: Mapped[bool]
    best: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    """Whether its evaluation is the best of its stage and seed so far."""
    seed: Mapped[int | None]
    """The seed that it belongs to, in a job with several seeds; null for the first one."""
    path: Mapped[str | None]
    """Its folder within the run folder. Null once the run has replaced it, while a job still needs it."""
    metrics: Mapped[dict[str, Any]]
    files: Mapped[list[dict[str, Any]]]
    """`[{path, bytes, sha256}]`, paths relative to the folder."""
    bytes: Mapped[int]
    blob_prefix: Mapped[str]
    created_at: Mapped[CreatedAt]
    damage: Mapped[str | None]
    """The first stored file that is not what was saved, and how. Such a checkpoint is never used. Null for a good one."""
    damaged_at: Mapped[datetime | None]
    """When the damage was found."""


class CheckpointPin(Base):
    """A checkpoint that an unfinished job starts from. The database refuses to delete it or its job.

    Deleted when the job that needs it ends; that job's spec still names the checkpoint.
    """

    __tablename__ = "checkpoint_pins"

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    """The job that needs it."""
    field: Mapped[str] = mapped_column(primary_key=True)
    """JSON pointer of the field of the spec that names it, such as `#/model/path`. For the start of a branch: the folder within the run folder."""
    checkpoint_id: Mapped[str] = mapped_column(ForeignKey("checkpoints.id", ondelete="RESTRICT"), index=True)
