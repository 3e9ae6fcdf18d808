"""Jobs and what they report: metrics, completions, checkpoints."""

from typing import Annotated, Literal

from pydantic import ConfigDict, PlainSerializer, WrapValidator

from api.schema import ListOf, Schema, Timestamp
from core.models.jobs import JobStatus
from trainer.events import Sample
from trainer.spec import JobSpec, StageName

# A spec as it was stored, which may be by an older version: described by today's model, and never held against it.
StoredSpec = Annotated[JobSpec, WrapValidator(lambda stored, _: stored), PlainSerializer(lambda stored: stored)]
"""The schema of a spec; in truth a dict that passes unseen."""


class Progress(Schema):
    """Progress of a job."""

    stage: str
    """The current stage."""
    step: int
    """Completed steps of the stage."""
    total_steps: int
    """Steps of the stage."""
    stage_index: int
    """Index of the stage, from 0."""
    stage_count: int
    """How many stages the run has."""
    fraction: float
    """Completed share of the whole run, 0 to 1. Stages are weighted roughly by their duration."""
    eta_seconds: float | None
    """Seconds until the end of the current stage; null while unknown."""
    seeds_done: int
    """Seeds that have ended, in a job of several seeds. Stage and step are those of the first seed."""
    seed_count: int
    """How many seeds the job has."""


class JobError(Schema):
    """Why a job failed."""

    code: str
    """The kind of failure, for programs."""
    message: str
    """Cause and remedy, for people."""


class JobSummary(Schema):
    """A job in a list, without its spec."""

    object: Literal["job"] = "job"
    """Always `job`."""
    id: str
    """Begins with `job_`."""
    name: str
    """For people."""
    status: JobStatus
    """State of the job."""
    status_reason: str
    """Reason of the last transition, for people."""
    queue_reason: str | None
    """Why it waits; null unless it is queued."""
    created_at: Timestamp
    """When it was submitted."""
    started_at: Timestamp | None
    """When a worker first claimed it."""
    finished_at: Timestamp | None
    """When it ended."""
    stage: str | None
    """The current or last stage; null before the first."""
    progress: Progress | None
    """Null until the trainer has reported its plan."""
    attempt: int
    """Number of attempts so far."""
    error: JobError | None
    """Null unless it failed."""
    summary: dict[str, float] | None
    """Headline figures of the run; null unless it succeeded."""
    reward_sparkline: list[float]
    """Mean score under PPO over the run, in at most 60 numbers; empty without PPO."""


class Job(JobSummary):
    """A job with its spec."""

    spec: StoredSpec
    """The spec with all defaults filled in."""


class JobList(ListOf[JobSummary]):
    """Jobs, newest first unless asked otherwise."""


class Series(Schema):
    """One metric of one stage: `values` where the points are few, else `last`, `min`, `max` and `n` per bucket."""

    stage: StageName
    """The stage it belongs to."""
    name: str
    """The metric; `GET /v1/reference/metrics` explains it."""
    steps: list[int]
    """The step of each point; of a bucket, its last step."""
    values: list[float] | None = None
    """The value at each step; null if in buckets."""
    last: list[float] | None = None
    """The value at the bucket's last step; null if not in buckets."""
    min: list[float] | None = None
    """The smallest value in the bucket; null if not in buckets."""
    max: list[float] | None = None
    """The largest value in the bucket; null if not in buckets."""
    n: list[int] | None = None
    """How many points the bucket holds; null if not in buckets."""


class Metrics(Schema):
    """The numbers of a job."""

    object: Literal["metrics"] = "metrics"
    """Always `metrics`."""
    series: list[Series]
    """By stage in the run's order, then by name."""
    last_seq: int
    """The event that these numbers are current to: a stream opened with `after` set to it misses and repeats nothing."""


class JobSample(Sample):
    """A completion that the run logged."""

    # A row of an older version may have fields that are gone, and lacks those that came later.
    model_config = ConfigDict(
        extra="ignore",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="null",
    )

    object: Literal["job.sample"] = "job.sample"
    """Always `job.sample`."""
    stage: str
    """The stage of the run."""
    step: int
    """The step of the stage."""
    index: int
    """Its place among the completions of that step, from 0."""


class JobSampleList(ListOf[JobSample]):
    """The completions of one step."""


class SampleStep(Schema):
    """A step that has completions."""

    stage: str
    """Its stage."""
    step: int
    """Its number."""


class SampleStepList(ListOf[SampleStep]):
    """Steps that have completions, in the order in which they were reached."""


class CheckpointFile(Schema):
    """Path, size and checksum of one file."""

    path: str
    """Relative to the checkpoint's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """SHA-256 in hexadecimal."""


class Checkpoint(Schema):
    """A saved model folder that transformers' `from_pretrained` loads."""

    object: Literal["job.checkpoint"] = "job.checkpoint"
    """Always `job.checkpoint`."""
    id: str
    """Begins with `ckpt_`."""
    job_id: str
    """The job it comes from."""
    attempt: int
    """The attempt that saved it."""
    stage: StageName
    """The stage it was saved in."""
    step: int
    """The step it was saved after."""
    final: bool
    """Whether it is the result of the stage. Other checkpoints serve to resume from."""
    best: bool
    """Whether its held-out win rate is the best of the stage so far. The platform keeps it beside the last ones."""
    seed: int | None
    """The seed that it belongs to, in a job of several seeds; null for the job's own."""
    created_at: Timestamp
    """When it was stored."""
    bytes: int
    """Size of all files."""
    metrics: dict[str, float]
    """Figures of the checkpoint, by name."""
    files: list[CheckpointFile]
    """The files of the folder."""


class CheckpointList(ListOf[Checkpoint]):
    """Checkpoints, oldest first unless asked otherwise."""
