"""Schemas of findings and of the health rules."""

from typing import Literal

from api.schema import ListOf, Schema, Timestamp
from core.models.findings import Severity
from core.models.jobs import JobStatus
from trainer.events import Evidence, SuggestedChange
from trainer.spec import HealthAction, StageName


class HealthFinding(Schema):
    """A health rule that fired in a run, or a warning of the run. One for each seed and rule, or text."""

    object: Literal["health.finding"] = "health.finding"
    """Always `health.finding`."""
    id: str
    """Begins with `find_`."""
    job_id: str
    """The job that it is about."""
    job_name: str
    """Name of the job."""
    job_status: JobStatus
    """State of the job."""
    severity: Severity
    """`warning`: the run went on. `error`: it was paused, rolled back or stopped, or it reported an error. The gravest so far."""
    title: str
    """The finding in words, such as "No clipping"."""
    rule: str | None
    """Name of the health rule, as in the spec's `health`; null for a warning of the run."""
    action: Literal["warn", "pause", "stop", "roll_back"] | None
    """The action of the run when the rule fired last; null for a warning of the run."""
    seed: int | None
    """The seed that it belongs to; null in a job with one seed."""
    stage: StageName | None
    """The stage of the run; null for a warning of the run."""
    step: int | None
    """The last step at which the rule fired; null for a warning of the run."""
    times: int
    """Steps at which it fired. A step that is repeated after a resume counts once."""
    cause: str
    """The problem, or the text of the warning."""
    suggestion: str
    """The setting to change; empty for a warning of the run."""
    evidence: list[Evidence]
    """The values that the rule looked at when it fired last."""
    changes: list[SuggestedChange]
    """The suggestion for programs: alternatives."""
    created_at: Timestamp
    """When it was reported first. Lists are in this order."""
    last_at: Timestamp
    """When it was reported last."""


class HealthFindingList(ListOf[HealthFinding]):
    """Findings, newest first unless asked otherwise."""


class HealthRuleInfo(Schema):
    """A rule that watches the metrics of PPO, with its defaults."""

    rule: str
    """Its name in the spec's `health` and in findings."""
    title: str
    """Its title for people."""
    meaning: str
    """When it fires."""
    action: HealthAction
    """The default of `action`."""
    limit: float
    """The default of `limit`."""
    patience: int
    """The default of `patience`."""


class HealthRuleInfoList(ListOf[HealthRuleInfo]):
    """Every health rule."""
