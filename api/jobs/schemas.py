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
    """How far a job is."""

    stage: str
    """The present stage."""
    step: int
    """Steps of it that are done."""
    total_steps: int
    """Steps that it has."""
    stage_index: int
    """Which stage of the run it is, from 0."""
    stage_count: int
    """How many stages the run has."""
    fraction: float
    """Of the whole run, 0 to 1; stages are weighted roughly by how long they take."""
    eta_seconds: float | None
    """Until the end of the present stage; null while unknown."""
    seeds_done: int
    """Of a job of several seeds, how many have come to an end; stages and steps are those of the first."""
    seed_count: int
    """How many seeds the job has."""


class JobError(Schema):
    """Why a job failed."""

    code: str
    """The kind of failure, for programs."""
    message: str
    """What happened and what to do, for people."""


class JobSummary(Schema):
    """A job, as lists show it."""

    object: Literal["job"] = "job"
    """Always `job`."""
    id: str
    """Begins with `job_`."""
    name: str
    """For people."""
    status: JobStatus
    """Where it is in its life."""
    status_reason: str
    """Why it is there."""
    queue_reason: str | None
    """Why it still waits; null unless it is queued."""
    created_at: Timestamp
    """When it was submitted."""
    started_at: Timestamp | None
    """When a worker first took it."""
    finished_at: Timestamp | None
    """When it ended."""
    stage: str | None
    """The present or last stage; null before the first."""
    progress: Progress | None
    """How far it is; null before the trainer has said what it will do."""
    attempt: int
    """How many workers have taken it so far."""
    error: JobError | None
    """Why it failed; null unless it did."""
    summary: dict[str, float] | None
    """What the run learnt; null before it succeeded."""
    reward_sparkline: list[float]
    """The course of the mean score under PPO, in at most 60 numbers; empty without PPO."""


class Job(JobSummary):
    """A job."""

    spec: StoredSpec
    """What the run is, with every default filled in."""


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
    """A file of a checkpoint."""

    path: str
    """Relative to the checkpoint's folder."""
    bytes: int
    """Its size."""
    sha256: str
    """Its sum."""


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
    """Whether it is the stage's result (else it is one to resume from)."""
    best: bool
    """Whether it is the stage's best so far, by its held-out win rate: kept beside the last ones."""
    seed: int | None
    """Of a job of several seeds, the one that it belongs to; null: the job's own."""
    created_at: Timestamp
    """When it was stored."""
    bytes: int
    """Size of all files."""
    metrics: dict[str, float]
    """How good it was."""
    files: list[CheckpointFile]
    """What it holds."""


class CheckpointList(ListOf[Checkpoint]):
    """Checkpoints, oldest first unless asked otherwise."""
