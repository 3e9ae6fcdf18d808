"""The kinds of events."""

import time
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from trainer.events.report_card import Card, PointwiseCard
from trainer.spec import StageName
from trainer.spec.knobs import Action, Knob


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    at: float = Field(default_factory=time.time)
    """Unix seconds."""


class StagePlan(BaseModel):
    """A stage the run will go through."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    stage: StageName
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has."""


class RunStarted(_Event):
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


class StageStarted(_Event):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    type: Literal["stage_started"] = "stage_started"
    stage: StageName
    """The stage of the run."""
    total_steps: int
    """Steps that the stage has."""
    start_step: int = 0
    """0, or the step that the stage resumes after."""


class Metrics(_Event):
    """Metrics of one step. After a resume, a repeated step is reported again; the later report counts."""

    type: Literal["metrics"] = "metrics"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    total_steps: int
    """Steps that the stage has."""
    values: dict[str, float]
    """Finite values by the metric's name."""


class TokenRow(BaseModel):
    """One token of a completion, as PPO saw it. A number that is not finite is missing."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    text: str
    """The token's text. A token that is no whole character has its name in the vocabulary."""
    logprob: float | None = None
    """Log-probability under the policy that sampled it, at the sampling temperature, in nats."""
    reference_logprob: float | None = None
    """Log-probability under the reference, in nats."""
    kl: float | None = None
    """The KL estimate at this token."""
    value: float | None = None
    """The critic's value of the state before it; none without a critic."""
    advantage: float | None = None
    """The advantage that the update used."""
    reward: float | None = None
    """The reward that the advantage is computed from: the KL penalty, and the score on the last token."""
    clipped: bool | None = None
    """Whether the clipped term of the policy loss was active in the last pass; none where it took no part."""
    entropy: float | None = None
    """Entropy of the policy's distribution at this token, in nats, in the last pass over the response."""
    ratio: float | None = None
    """π/π_old of the token in the last pass over the response; 1 where the policy had taken no step before it."""
    special: bool | None = None
    """Whether it is a special token, such as EOS; none in logs from before it was reported."""


class Sample(BaseModel):
    """One completion."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    prompt: str
    """The text that the policy was given."""
    response: str
    """The text that the policy wrote."""
    score: float | None = None
    """Score by the run's rewards."""
    kl: float | None = None
    """Sum over the response of log π − log π_ref."""
    tokens: int | None = None
    """Length of the response."""
    finished: bool | None = None
    """Whether the response ended with an EOS token."""
    judge: float | None = None
    """Score by the judge, where there is a judge that scores."""
    reference: str | None = None
    """Response to the same prompt of the policy that this one is compared with (only for held-out prompts)."""
    reference_score: float | None = None
    """Score of `reference` by the run's rewards."""
    reference_judge: float | None = None
    """Score of `reference` by the judge."""
    token_table: list[TokenRow] | None = None
    """The completion token by token; for a few completions, at evaluations in PPO."""
    held_out: bool = False
    """Whether its prompt is one of those held-out prompts whose completions are logged at every evaluation of PPO."""


class Samples(_Event):
    """Completions of one step."""

    type: Literal["samples"] = "samples"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rows: list[Sample]
    """The completions."""


class CheckpointSaved(_Event):
    """A checkpoint folder is complete on disk."""

    type: Literal["checkpoint_saved"] = "checkpoint_saved"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    path: str
    """The folder, relative to the run folder."""
    final: bool
    """Whether it is the result of the stage."""
    best: bool = False
    """Whether its held-out win rate is the best so far. It replaces the best checkpoint before it."""
    seed: int | None = None
    """The seed that it belongs to, in a job of several seeds; null for the result of the job."""
    metrics: dict[str, float] = {}
    """Figures of the checkpoint, by name."""


class Evidence(BaseModel):
    """One number that a health rule looked at."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metric: str
    """Name of the metric."""
    step: int
    """Step of the value."""
    value: float
    """The value."""


class SuggestedChange(BaseModel):
    """A change of the spec that may help. Several of a finding are alternatives."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    field: str
    """Path of the field, such as `ppo.kl.coef`."""
    value: JsonValue
    """The new value."""
    factor: float | None = None
    """`value` is this multiple of the value in the spec. A live knob may have another value; null for a fixed value."""


class Health(_Event):
    """A health rule has fired. A step that is repeated after a resume reports the same finding again."""

    type: Literal["health"] = "health"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rule: str
    """Its name in the spec's `health`."""
    action: Literal["warn", "pause", "stop", "roll_back"]
    """The action of the run."""
    limit: float
    """The rule's limit."""
    cause: str
    """The problem, in a sentence."""
    evidence: list[Evidence]
    """The values that the last steps are compared with, then the last steps beyond the limit."""
    suggestion: str
    """The setting to change."""
    changes: list[SuggestedChange] = []
    """The suggestion for programs; empty if there is no change with a known value."""


class RolledBack(_Event):
    """The run went back to an earlier checkpoint's weights. Steps go on counting from `step`."""

    type: Literal["rolled_back"] = "rolled_back"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step that was done last; steps go on counting from here."""
    to_step: int
    """The step whose weights it goes on from."""
    learning_rate_factor: float
    """Factor of both learning rates from here on."""


class CommandRequested(_Event):
    """A command for the stage was requested. The platform appends this event; the trainer reports the outcome."""

    type: Literal["command_requested"] = "command_requested"
    stage: StageName
    """The stage that it is meant for."""
    name: Knob | Action
    """The knob or the action."""
    value: float | None = None
    """The new value; null for an action."""
    command: str
    """Id of the command."""
    actor: dict[str, str | None]
    """Who requested it: `kind`, `id` and `name`, as in `status_changed`."""


class KnobChanged(_Event):
    """A setting of the stage was changed between two steps. A step that is repeated after a resume reports it again."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    type: Literal["knob_changed"] = "knob_changed"
    stage: StageName
    """The stage of the run."""
    step: int
    """Steps of the stage that were done; the next step is the first with the new value."""
    name: Knob
    """The knob."""
    from_: float = Field(alias="from")
    """The value before. For an adaptive KL coefficient, the one that the controller had reached."""
    to: float
    """The new value."""
    command: str
    """Id of the command that requested it."""


class CommandDone(_Event):
    """An action was requested and taken up between two steps. An evaluation is part of the next step."""

    type: Literal["command_done"] = "command_done"
    stage: StageName
    """The stage of the run."""
    step: int
    """Steps of the stage that were done."""
    name: Action
    """The action."""
    command: str
    """Id of the command that requested it."""


class CommandRefused(_Event):
    """A command was not carried out."""

    type: Literal["command_refused"] = "command_refused"
    stage: StageName
    """The stage that ran."""
    step: int
    """Steps of the stage that were done."""
    name: Knob | Action
    """The knob or the action."""
    command: str
    """Id of the command."""
    reason: str
    """Why, as a sentence."""


class CurvePoint(BaseModel):
    """One evaluation of the held-out prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    step: int
    """Step of the evaluation."""
    sqrt_kl: float
    """√ of the mean KL to the policy as PPO began (Gao et al. 2023 plot against it); 0 where the estimate is negative."""
    score: float | None = None
    """Mean score by the rewards that PPO maximises."""
    judge: float | None = None
    """Mean score by the judge: the gold reward, where there is a judge that scores."""
    win_rate: float
    """Win rate against the policy as PPO began."""


class Curve(_Event):
    """The over-optimisation curve: the optimised score, and the judge and win rate, against the distance from the start."""

    type: Literal["curve"] = "curve"
    stage: StageName
    """The stage of the run."""
    points: list[CurvePoint]
    """The evaluations, by step."""


class StageFinished(_Event):
    """A stage is done; `summary` holds its headline figures."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: StageName
    """The stage of the run."""
    seconds: float
    """Duration of the stage."""
    summary: dict[str, float] = {}
    """Headline figures of the stage, by name."""


class Message(_Event):
    """A line for people."""

    type: Literal["message"] = "message"
    level: Literal["info", "warning", "error"] = "info"
    """Severity of the message."""
    text: str
    """The text."""


class RunFinished(_Event):
    """The run succeeded. `summary` holds its headline figures."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float
    """Duration of the run."""
    summary: dict[str, float]
    """Headline figures of the run, by name."""


class RunFailed(_Event):
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


class RunStopped(_Event):
    """The run was asked to stop, saved, and can be resumed."""

    type: Literal["run_stopped"] = "run_stopped"
    reason: Literal["signal", "lease_lost", "health"]
    """`signal`: the process was asked to stop; `lease_lost`: the worker lost the job; `health`: a health rule stopped the run."""
    stage: StageName | None = None
    """The stage that was stopped; null before the first stage."""
    step: int | None = None
    """The last step that is saved; null outside the steps of a stage."""
    message: str | None = None
    """The reason, for people."""


class ReportCard(_Event):
    """A reward model is trained: its figures on held-out pairs or thumbs, also in report_card.json beside its weights."""

    type: Literal["report_card"] = "report_card"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step after which it was measured."""
    card: Card | PointwiseCard
    """The figures."""


class SeedFinished(_Event):
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
    """Whether it ended worse than it began, by the rule in trainer/run/several_seeds.py."""
    why: str | None = None
    """A description of the collapse or failure."""


Event = Annotated[
    RunStarted
    | StageStarted
    | Metrics
    | Samples
    | CheckpointSaved
    | Health
    | RolledBack
    | CommandRequested
    | KnobChanged
    | CommandDone
    | CommandRefused
    | Curve
    | ReportCard
    | SeedFinished
    | StageFinished
    | Message
    | RunFinished
    | RunFailed
    | RunStopped,
    Field(discriminator="type"),
]
