"""Schemas of sweeps and groups."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from api.schema import ListOf, Schema, Timestamp
from core.models.groups import Goal
from core.models.jobs import SCORE, JobStatus


class GroupRequest(Schema):
    """A group without jobs. `POST /v1/jobs?group=…` adds jobs to it."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    name: Annotated[str, Field(max_length=200)] = ""
    """For people."""
    metric: Annotated[str, Field(min_length=1, max_length=200)] = SCORE
    """The objective by which its jobs are compared: a figure of the run's summary, or a metric."""
    max_parallel: Annotated[int, Field(ge=1)] | None = None
    """Most jobs that are queued or run at once. The others are paused until there is room. Left out: no bound."""
    goal: Goal = Goal.MAXIMIZE
    """Whether the highest objective is the best, or the lowest, as for a loss."""


class GroupJob(Schema):
    """One member, with its values and its objective."""

    id: str
    """Id of the job."""
    number: int
    """Its place in the group, from 1."""
    name: str
    """Name of the job."""
    status: JobStatus
    """State of the job."""
    status_reason: str
    """Reason of the last transition."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""
    objective: float | None
    """The group's metric, as far as the run has come; null without a value. With several seeds, a score is the mean over those that have not failed. Another metric is that of the seed that runs, and at the end of the job the mean."""
    objective_low: float | None
    """Lower end of the 95 % interval of this mean; null for a job with one seed or before its end."""
    objective_high: float | None
    """Upper end of the interval."""
    seeds: int
    """Number of seeds of the job."""


class GroupSummary(Schema):
    """A group in a list."""

    object: Literal["job.group"] = "job.group"
    """Always `job.group`."""
    id: str
    """Begins with `grp_`."""
    name: str
    """For people."""
    metric: str
    """The objective of its jobs."""
    goal: Goal
    """Whether the highest or the lowest objective is the best."""
    max_parallel: int | None
    """Most jobs that are queued or run at once; null: no bound."""
    sweep: dict[str, Any] | None
    """The request of the sweep without the base spec; null for a group by hand."""
    created_at: Timestamp
    """When it was made."""


class Group(GroupSummary):
    """A group with its jobs."""

    statuses: dict[JobStatus, int]
    """Number of jobs in each state that occurs."""
    metrics: list[str]
    """The figures and metrics by which the jobs can be compared: those that at least one of them has."""
    jobs: list[GroupJob]
    """The jobs, the best objective first, those without one last."""


class GroupList(ListOf[GroupSummary]):
    """Groups, newest first unless asked otherwise."""


class PlannedJob(Schema):
    """A job that the sweep would make."""

    number: int
    """Its place, from 1."""
    name: str
    """Its name."""
    values: dict[str, Any]
    """The fields of the spec that differ, by path."""


class SweepPlan(Schema):
    """The jobs that a sweep would make."""

    object: Literal["sweep.plan"] = "sweep.plan"
    """Always `sweep.plan`."""
    jobs: list[PlannedJob]
    """The jobs in order."""
