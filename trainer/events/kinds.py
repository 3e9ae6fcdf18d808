"""The kinds of events."""

import time
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from trainer.events.report_card import Card, PointwiseCard
from trainer.spec import StageName


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    at: float = Field(default_factory=time.time)
    """Unix seconds."""


class StagePlan(BaseModel):
    """A stage the run will go through."""

    stage: StageName
    total_steps: int


class RunStarted(_Event):
    """The run has loaded its data and knows its plan. After a resume, `resumed_stage` and `resumed_step` say from where."""

    type: Literal["run_started"] = "run_started"
    stages: list[StagePlan]
    device: str
    threads: int
    dtype: str | None = None
    """In which the run computes; what `model.dtype` = "auto" stands for. None in logs from before it was reported."""
    versions: dict[str, str]
    resumed_stage: StageName | None = None
    resumed_step: int | None = None


class StageStarted(_Event):
    """A stage begins at `start_step` (0, or the step it resumes after)."""

    type: Literal["stage_started"] = "stage_started"
    stage: StageName
    total_steps: int
    start_step: int = 0


class Metrics(_Event):
    """Numbers of one step (1-based). Re-emitted for the same (stage, step) after a resume: the later one counts."""

    type: Literal["metrics"] = "metrics"
    stage: StageName
    step: int
    total_steps: int
    values: dict[str, float]


class TokenRow(BaseModel):
    """One token of a completion, as PPO saw it. A number that is not finite is missing."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    text: str
    """What it reads as; a token that is no whole character is shown by its name in the vocabulary."""
    logprob: float | None = None
    """Under the policy that sampled it, at the sampling temperature."""
    reference_logprob: float | None = None
    """Under the reference."""
    kl: float | None = None
    """The KL estimate at this token."""
    value: float | None = None
    """The critic's value of the state before it; none without a critic."""
    advantage: float | None = None
    """As the update used it."""
    reward: float | None = None
    """As the advantage was made from it: the KL penalty, and the score on the last token."""
    clipped: bool | None = None
    """Whether the clipped term of the policy loss was active in the last pass; none where it took no part."""


class Sample(BaseModel):
    """One completion. `reference` is the answer to the same prompt of the policy it is compared with (evaluation only)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str
    response: str
    score: float | None = None
    kl: float | None = None
    tokens: int | None = None
    finished: bool | None = None
    judge: float | None = None
    reference: str | None = None
    reference_score: float | None = None
    reference_judge: float | None = None
    token_table: list[TokenRow] | None = None


class Samples(_Event):
    """Completions of one step."""

    type: Literal["samples"] = "samples"
    stage: StageName
    step: int
    rows: list[Sample]


class CheckpointSaved(_Event):
    """A checkpoint folder is complete on disk. `path` is relative to the run folder. `final`: the stage's result; `best`: the one with the best held-out win rate so far, in place of the best before it; `seed`: of a job of several seeds, the one that it belongs to (none: the job's result)."""

    type: Literal["checkpoint_saved"] = "checkpoint_saved"
    stage: StageName
    step: int
    path: str
    final: bool
    best: bool = False
    seed: int | None = None
    metrics: dict[str, float] = {}


class Evidence(BaseModel):
    """One number that a health rule looked at."""

    metric: str
    step: int
    value: float


class Health(_Event):
    """A health rule has fired: what is wrong, what shows it, and which field of the spec to turn. Said again, in the same words, for a step that is taken again after a resume."""

    type: Literal["health"] = "health"
    stage: StageName
    step: int
    rule: str
    """Its name in the spec's `health`."""
    action: Literal["warn", "pause", "stop", "roll_back"]
    """What the run does about it."""
    limit: float
    """The rule's limit."""
    cause: str
    """What is wrong, in a sentence."""
    evidence: list[Evidence]
    """What it is compared with, then the last steps beyond the limit."""
    suggestion: str
    """What to change."""


class RolledBack(_Event):
    """The run went back to an earlier checkpoint's weights. Steps go on counting from `step`."""

    type: Literal["rolled_back"] = "rolled_back"
    stage: StageName
    step: int
    to_step: int
    """The step whose weights it goes on from."""
    learning_rate_factor: float
    """What both learning rates are multiplied by from here on."""


class CurvePoint(BaseModel):
    """One evaluation of the held-out prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    step: int
    sqrt_kl: float
    """√ of the mean KL to the policy as PPO began (Gao et al. 2023 plot against it); 0 where the estimate is negative."""
    score: float | None = None
    """Mean score by the rewards that PPO maximises."""
    judge: float | None = None
    """Mean score by the judge: the gold reward, where there is a judge that scores."""
    win_rate: float
    """Against the policy as PPO began."""


class Curve(_Event):
    """The over-optimisation curve: what was optimised and what was wanted, against the distance travelled."""

    type: Literal["curve"] = "curve"
    stage: StageName
    points: list[CurvePoint]


class StageFinished(_Event):
    """A stage is done; `summary` holds its headline figures."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: StageName
    seconds: float
    summary: dict[str, float] = {}


class Message(_Event):
    """A line for people."""

    type: Literal["message"] = "message"
    level: Literal["info", "warning", "error"] = "info"
    text: str


class RunFinished(_Event):
    """The run succeeded; `summary` holds what it learnt."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float
    summary: dict[str, float]


class RunFailed(_Event):
    """The run ended with an error; `code` names its kind, `message` says what happened and what to do."""

    type: Literal["run_failed"] = "run_failed"
    code: str
    message: str
    stage: StageName | None = None
    step: int | None = None


class RunStopped(_Event):
    """The run was asked to stop, saved, and can be resumed."""

    type: Literal["run_stopped"] = "run_stopped"
    reason: Literal["signal", "lease_lost", "health"]
    stage: StageName | None = None
    step: int | None = None
    message: str | None = None


class ReportCard(_Event):
    """A reward model is trained: its figures on held-out pairs or thumbs, also in report_card.json beside its weights."""

    type: Literal["report_card"] = "report_card"
    stage: StageName
    step: int
    card: Card | PointwiseCard


class SeedFinished(_Event):
    """One seed of several is done, for better or worse."""

    type: Literal["seed_finished"] = "seed_finished"
    seed: int
    number: int
    """Which one it is, from 1."""
    of: int
    """How many there will be."""
    seconds: float
    summary: dict[str, float]
    """What its run learnt; empty if it failed."""
    collapsed: bool
    """Whether it ended worse than it began, by the rule in trainer/run/several_seeds.py."""
    why: str | None = None
    """How it collapsed or failed."""


Event = Annotated[
    RunStarted
    | StageStarted
    | Metrics
    | Samples
    | CheckpointSaved
    | Health
    | RolledBack
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
