"""Events with results: metrics, completions, critic cards, checkpoints, curves and report cards."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from trainer.events.critic_card import Critic
from trainer.events.lifecycle import RunEvent
from trainer.events.report_card import Card, PointwiseCard
from trainer.spec import MissingCause, StageName


class Metrics(RunEvent):
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
    sampler_gap: float | None = None
    """log π_old − log π_sampler of the token, in nats; none where the sampler's numbers are π_old's, or unknown."""
    teacher_logprob: float | None = None
    """Log-probability under the teacher (`ppo.teacher`), in nats; none without one."""
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
    score_missing: MissingCause | None = None
    """Why a reward has no value, so that there is no score. Such a completion takes part in no mean and no gradient."""
    judge: float | None = None
    """Score by the judge, where there is a judge that scores."""
    judge_missing: MissingCause | None = None
    """Why the judge has no value."""
    reference: str | None = None
    """Response to the same prompt of the policy that this one is compared with (only for held-out prompts)."""
    reference_score: float | None = None
    """Score of `reference` by the run's rewards."""
    reference_score_missing: MissingCause | None = None
    """Why a reward has no value for `reference`."""
    reference_judge: float | None = None
    """Score of `reference` by the judge."""
    reference_judge_missing: MissingCause | None = None
    """Why the judge has no value for `reference`."""
    token_table: list[TokenRow] | None = None
    """The completion token by token; for a few completions, at evaluations in PPO."""
    held_out: bool = False
    """Whether its prompt is one of those held-out prompts whose completions are logged at every evaluation of PPO."""
    policy_step: int | None = None
    """Steps of PPO that the policy had taken when it sampled the response; only with `ppo.rollout.asynchronous`."""


class Samples(RunEvent):
    """Completions of one step."""

    type: Literal["samples"] = "samples"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rows: list[Sample]
    """The completions."""


class CriticCard(RunEvent):
    """How good the critic was in one iteration of PPO. After a resume, a repeated step is reported again; the later report counts."""

    type: Literal["critic_card"] = "critic_card"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    card: Critic
    """The figures."""


class RewardMissing(RunEvent):
    """A reward or a judge has no value for some responses of a step. They take part in no mean and no gradient."""

    type: Literal["reward_missing"] = "reward_missing"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    reward: str
    """Name of the reward; `evaluation.judge` or `ppo.online.label_by` for a judge."""
    asked: int
    """Responses that it was asked about in this step; pairs for a judge that compares."""
    missing: dict[MissingCause, int]
    """Responses without a value, by cause."""
    share: float
    """Share without a value in the window that `max_missing` limits, this step included."""
    reason: str
    """The reason of the first of them, for people."""
    held_out: bool = False
    """Whether they are the responses of an evaluation."""


class CheckpointSaved(RunEvent):
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
    """Whether its evaluation is the best so far. It replaces the best checkpoint before it."""
    metrics: dict[str, float] = {}  # noqa: RUF012  # pydantic copies it
    """Figures of the checkpoint, by name."""


class CheckpointDamaged(RunEvent):
    """The stored files of a checkpoint are not those that were saved. It is not used."""

    type: Literal["checkpoint_damaged"] = "checkpoint_damaged"
    stage: StageName
    """The stage of the run."""
    step: int | None = None
    """The step of the checkpoint; null where only the damaged files name it."""
    path: str
    """The folder, relative to the run folder."""
    final: bool
    """Whether it was the result of the stage."""
    best: bool = False
    """Whether it was the best checkpoint of the stage."""
    reason: str
    """The first file that is wrong, and how."""
    remedy: str
    """The action of the run or of the platform instead."""
    checkpoint: str | None = None
    """The platform's id of the checkpoint; null in a run without a platform."""


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


class Curve(RunEvent):
    """The over-optimisation curve: the optimised score, and the judge and win rate, against the distance from the start."""

    type: Literal["curve"] = "curve"
    stage: StageName
    """The stage of the run."""
    points: list[CurvePoint]
    """The evaluations, by step."""


class ReportCard(RunEvent):
    """A reward model is trained: its figures on held-out pairs or thumbs, also in report_card.json beside its weights."""

    type: Literal["report_card"] = "report_card"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step after which it was measured."""
    card: Card | PointwiseCard
    """The figures."""
