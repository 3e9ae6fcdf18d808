from typing import Literal

from api.schemas.base import ListOf, Schema, Timestamp
from api.schemas.stored_spec import StoredSpec
from core.models.jobs import JobStatus


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
