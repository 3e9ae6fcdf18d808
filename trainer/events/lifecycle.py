"""Events of the course of a run: its start, its stages, its seeds and its end; and the base of all events."""

import time
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from trainer.spec import StageName


class RunEvent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    at: float = Field(default_factory=time.time)
    """Unix seconds."""
    seed: int | None = None
    """The seed that it belongs to, in a job of several seeds; null for the whole job, and in a job of one seed."""


class StagePlan(BaseModel):
    """A stage the run will go through."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    stage: StageName
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has."""
    at_most: bool = False
    """Whether the stage may have fewer steps, because value pretraining of the critic ends by what it reaches."""


class RunStarted(RunEvent):
    """The run has loaded its data and has planned its stages."""

    type: Literal["run_started"] = "run_started"
    stages: list[StagePlan]
    """The stages in their order."""
    device: str
    """The device that the run computes on."""
    threads: int
    """CPU threads that PyTorch uses."""
    dtype: str | None = None
    """The type in which the run computes, which `model.dtype` = "auto" selected. None in logs from before it was reported."""
    versions: dict[str, str]
    """Versions of Python, PyTorch and transformers."""
    resumed_stage: StageName | None = None
    """The stage that the run resumes in; null for a new run."""
    resumed_step: int | None = None
    """The step that the run resumes after; null for a new run."""


class StageStarted(RunEvent):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    type: Literal["stage_started"] = "stage_started"
    stage: StageName
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has: the most while value pretraining goes on."""
    start_step: int = 0
    """0, or the step that the stage resumes after."""


class StageFinished(RunEvent):
    """A stage is done; `summary` holds its headline figures."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: StageName
    """The stage of the run."""
    seconds: float
    """Duration of the stage."""
    summary: dict[str, float] = {}
    """Headline figures of the stage, by name."""


class SeedFinished(RunEvent):
    """One seed of several is done: finished, collapsed or failed."""

    type: Literal["seed_finished"] = "seed_finished"
    seed: int
    """The seed."""
    number: int
    """Its position among the seeds, from 1."""
    of: int
    """Number of seeds in the job."""
    seconds: float
    """Duration of the seed's run."""
    summary: dict[str, float]
    """Headline figures of its run, by name. Empty if it failed."""
    collapsed: bool
    """Whether it ended worse than it began, by the rule in trainer/events/seed_summary.py."""
    why: str | None = None
    """A description of the collapse or failure."""


class Message(RunEvent):
    """A line for people."""

    type: Literal["message"] = "message"
    level: Literal["info", "warning", "error"] = "info"
    """Severity of the message."""
    text: str
    """The text."""
    actor: dict[str, str | None] | None = None
    """Who caused it: `kind`, `id` and `name`, as in `status_changed`. Null: the trainer."""


class RunFinished(RunEvent):
    """The run succeeded. `summary` holds its headline figures."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float
    """Duration of the run."""
    summary: dict[str, float]
    """Headline figures of the run, by name."""


class RunFailed(RunEvent):
    """The run ended with an error. `code` names its kind, and `message` describes it and what to do next."""

    type: Literal["run_failed"] = "run_failed"
    code: str
    """The kind of error, for programs."""
    message: str
    """A description of the error and of what to do next, for people."""
    stage: StageName | None = None
    """The stage that failed; null before the first stage."""
    step: int | None = None
    """The step that failed; null outside the steps of a stage."""


class RunStopped(RunEvent):
    """The run was asked to stop, saved, and can be resumed."""

    type: Literal["run_stopped"] = "run_stopped"
    reason: Literal["signal", "lease_lost", "health", "rewards"]
    """`signal`: the process was asked to stop. `lease_lost`: the worker lost the job. `health`: a health rule stopped the run. `rewards`: too many responses have no reward (`max_missing`)."""
    stage: StageName | None = None
    """The stage that was stopped; null before the first stage."""
    step: int | None = None
    """The last step that is saved; null outside the steps of a stage."""
    message: str | None = None
    """The reason, for people."""
