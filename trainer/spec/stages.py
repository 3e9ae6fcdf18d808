"""The gradient stages beside PPO, and the evaluation."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trainer.spec.facts import BETWEEN_STAGES, MAIN, MID_STAGE, Amount, LiveKnob, Names
from trainer.spec.pair_losses import OPTIONS, PAIR_LOSSES, PairLossKind, PairLossName
from trainer.spec.pass_at import PassAtSpec
from trainer.spec.rewards import JudgeSpec
from trainer.spec.section import (
    Countable,
    Fraction,
    LearningRate,
    NonNegative,
    Path,
    Positive,
    PositiveInt,
    Schedule,
    Section,
)

_RATE_KNOB = LiveKnob(
    "learning_rate",
    label="Learning rate",
    unit="peak, per step",
    new="peak learning rate of the model that the stage trains; in PPO, of the policy",
)
PeakRate = Annotated[LearningRate, MID_STAGE, MAIN, _RATE_KNOB]
Epochs = Annotated[PositiveInt, MID_STAGE, MAIN, Amount("epochs")]
BatchSize = Annotated[PositiveInt, BETWEEN_STAGES, MAIN, Amount("rows in a batch")]


class OptimizerSpec(Section):
    """The optimizer settings of every stage that trains."""

    learning_rate: PeakRate = 1e-5
    """Peak learning rate of AdamW. The live knob `learning_rate` changes it during the stage."""
    lr_schedule: Annotated[Schedule, MID_STAGE] = "cosine"
    """Shape of the learning rate after warm-up: constant, or down to 0 along a line or a cosine."""
    warmup_ratio: Annotated[Fraction, MID_STAGE] = 0.03
    """Share of the steps (in PPO: iterations) over which the learning rate rises from 0."""
    weight_decay: Annotated[NonNegative, MID_STAGE] = 0.0
    """Decoupled weight decay of AdamW, on matrices only (never on biases and norms)."""
    max_grad_norm: Annotated[Positive, MID_STAGE] = 1.0
    """Gradients are scaled down to this global L2 norm."""
    micro_batch_size: Annotated[PositiveInt | None, MID_STAGE] = None
    """Sequences per forward pass (a preference pair is two); gradients accumulate to the batch. Left out: the whole (mini)batch at once. Changes memory, not the result."""
    micro_batch_tokens: Annotated[PositiveInt | None, MID_STAGE] = None
    """Tokens per forward pass at most, prompts included (a sequence that is longer goes alone); sequences of like length go together. Evens out memory where lengths differ much. With `micro_batch_size` both hold. Left out: no limit. Changes memory, not the result."""
    optimizer: Annotated[Literal["adamw", "adamw_8bit"], BETWEEN_STAGES] = "adamw"
    """`adamw`: Loshchilov and Hutter (2019). `adamw_8bit`: its two moments are in 8 bits, block by block (Dettmers et al. 2022). They take 2 bytes a parameter in place of 8, with nearly the same steps, which are slower on a CPU."""
    offload_optimizer: Annotated[bool, BETWEEN_STAGES] = False
    """Keep the optimizer's moments (and masters of bfloat16 weights) in host memory and take its steps on the CPU: the GPU holds weights and gradients alone. Changes memory and speed, the result by rounding only."""
    save_every: Annotated[PositiveInt, MID_STAGE] = 100
    """Steps between checkpoints to resume from."""

    @property
    def accumulates(self) -> bool:
        """Whether the gradient of a step may come in several backward passes."""
        return self.micro_batch_size is not None or self.micro_batch_tokens is not None


class RowsSpec(OptimizerSpec):
    """The settings of every stage that learns from rows of a dataset: SFT, reward model, DPO and KTO."""

    eval_rows: Annotated[PositiveInt | None, MID_STAGE] = 256
    """Held-out rows in an evaluation before the end of the stage, at most, counted as in `batch_size`. It runs with every checkpoint and on request, always on the same rows, in every job on the same data. The evaluation at the end uses all held-out rows. `null`: all of them every time."""


class SFTSpec(RowsSpec):
    """Supervised fine-tuning on completions (the loss ignores the prompt)."""

    epochs: Epochs = 1
    """Passes over the data."""
    batch_size: BatchSize = 32
    """Sequences per optimizer step."""
    turns: Annotated[Literal["last", "all"], BETWEEN_STAGES] = "last"
    """Assistant turns of a conversation that SFT learns. `last`: the last one. `all`: each one as an example of its own, whose prompt is rendered by the chat template at that turn."""


RewardModelLoss = Literal["pairwise", "pointwise", "stepwise"]


class RewardModelSpec(RowsSpec):
    """Reward model: a scalar head on the SFT model, score taken at the EOS token, or at the end of each step."""

    loss: Annotated[RewardModelLoss, BETWEEN_STAGES] = "pairwise"
    """`pairwise`: −log σ(r(preferred) − r(other)) on the pairs of `data.preferences` (Bradley-Terry; Ouyang et al. 2022, eq. 1). `pointwise`: binary cross-entropy, −log σ(r) on a thumb up and −log σ(−r) on a thumb down, on the rows of `data.thumbs`. `stepwise`: binary cross-entropy on the label of each step of `data.steps`, with r at the last token of the step. That is a process reward model (Lightman et al. 2023). The loss selects the dataset that the reward model learns from. If a job names several, only the other stages use the others."""

    step_delimiter: Annotated[str, Field(min_length=1, max_length=40), BETWEEN_STAGES] = "\n"
    """Stepwise only: the text between two steps, such as a line break. A step ends with the token that completes the delimiter behind it, the last one with the EOS. Solutions with a delimiter inside a step are left out. A reward of this model has the same `step_delimiter`."""
    neutral: Annotated[Literal["good", "bad", "skip"], BETWEEN_STAGES] = "good"
    """Stepwise only: the label of neutral steps in training. `good` and `bad` take them for those (Lightman et al. 2023 evaluate both, and take them for good); `skip` leaves them without a loss."""

    path: Annotated[Path | None, BETWEEN_STAGES, Names("reward_model")] = None
    """A reward model to go on training. Left out: the SFT model with a fresh scalar head."""
    members: Annotated[int, Field(ge=1, le=16), Countable, BETWEEN_STAGES] = 1
    """Reward models of an ensemble: heads on one trunk that begin with different random weights and learn from the same rows. The reward is by default the mean of their scores − their standard deviation (`combine` of the reward; Coste et al. 2023). 4 or 5 are usual. 1: a single reward model."""
    member_share: Annotated[float, Field(gt=0, le=1), BETWEEN_STAGES] = 1.0
    """Share of the pairs or thumbs that each member learns from, drawn for each row and member (bootstrapped heads; Osband et al. 2016). Members that learn from different rows disagree more off the data. 1: all learn from all rows."""
    epochs: Epochs = 1
    """Passes over the pairs, thumbs or solutions. More than one overfits quickly (Stiennon et al. 2020; Ouyang et al. 2022)."""
    batch_size: BatchSize = 64
    """Pairs, thumbs, or solutions with all of their steps, per optimizer step. All pairs of one ranking count together as one (Ouyang et al. 2022, §3.5)."""
    margin: Annotated[bool, BETWEEN_STAGES] = False
    """Ask for r(preferred) − r(other) ≥ the row's `margin`: −log σ(Δ − margin) (Touvron et al. 2023, eq. 2). Rows without one have margin 0."""
    center_coef: Annotated[NonNegative, BETWEEN_STAGES] = 0.0
    """Weight of (r(a) + r(b))², which keeps scores near 0 (Eisenstein et al. 2023, eq. 2; 0.01 is usual)."""
    normalize: Annotated[Literal["none", "mean", "mean_and_std"], BETWEEN_STAGES, MAIN] = "mean"
    """Scale of the SFT reference answers' scores after training: mean 0 (Stiennon et al. 2020), mean 0 and standard deviation 1, or unchanged. The scores of a pointwise reward model are log odds of a thumb up only with `none`. Those of a stepwise one are always `none`: σ of a score is the probability that the step is good."""

    @model_validator(mode="before")
    @classmethod
    def _steps_keep_their_log_odds(cls, value: Any) -> Any:
        """Without a value, `normalize` of a stepwise reward model is "none"."""
        if isinstance(value, dict) and value.get("loss") == "stepwise" and "normalize" not in value:
            return value | {"normalize": "none"}
        return value

    @model_validator(mode="after")
    def _steps_are_scored_by_one_head(self) -> "RewardModelSpec":
        if self.loss != "stepwise":
            self.refuse_idle(["step_delimiter", "neutral"], f'with `loss` = "{self.loss}": only "stepwise" reads steps')
            return self
        self.refuse_idle(["margin", "center_coef"], 'with `loss` = "stepwise": they are terms of a pair')
        if self.normalize != "none":
            raise ValueError(
                f'`normalize` = "{self.normalize}" with `loss` = "stepwise": a score is the log odds of a good step, and a shift '
                "would change every probability. Leave it out"
            )
        if self.members > 1:
            raise ValueError(
                '`members` with `loss` = "stepwise": the disagreement of an ensemble is defined for one score of a response, not '
                "for each step. Train one reward model"
            )
        return self

    @model_validator(mode="after")
    def _pairs_have_margins_and_centres(self) -> "RewardModelSpec":
        if self.loss == "pointwise":
            self.refuse_idle(["margin", "center_coef"], 'with `loss` = "pointwise": they are terms of a pair')
        return self

    @model_validator(mode="after")
    def _members_have_one_level(self) -> "RewardModelSpec":
        if self.members == 1:
            self.refuse_idle(["member_share"], "with one of `members`")
        if self.members > 1 and self.loss == "pairwise" and self.normalize == "none" and not self.center_coef:
            raise ValueError(
                '`members` with `normalize` = "none": only differences of scores are trained, so each member has a level of its '
                "own, and their disagreement would measure that. Normalise the scores, or set `center_coef`"
            )
        return self


class DPOSpec(RowsSpec):
    """Direct preference optimisation (Rafailov et al. 2023) and its relatives on pairs: the baselines without a reward model."""

    epochs: Epochs = 1
    """Passes over the pairs."""
    batch_size: BatchSize = 64
    """Pairs per optimizer step."""
    learning_rate: PeakRate = 1e-6
    """Peak learning rate of AdamW."""
    beta: Annotated[Positive, MID_STAGE, MAIN] = 0.1
    """β: how strongly the policy is held to the reference; of `simpo`, the scale of the mean log-probabilities. A spec with `loss` = "simpo" must name it; the paper takes 2 to 2.5."""
    loss: Annotated[PairLossName, BETWEEN_STAGES] = Field(
        default="sigmoid",
        description="The loss of a pair. "
        + "; ".join(f"`{name}`: {kind.formula}" for name, kind in PAIR_LOSSES.items())
        + ".",
    )
    label_smoothing: Annotated[float, Field(ge=0, lt=0.5), BETWEEN_STAGES] = 0.0
    """Probability that a label is wrong (conservative DPO, Mitchell 2023)."""
    target_margin: Annotated[NonNegative, MID_STAGE] = 1.0
    """γ of `simpo`: how much larger β times the mean log-probability of the preferred side should be. The paper takes 0.3 to 1.6, often about half of β."""
    odds_ratio_weight: Annotated[Positive, MID_STAGE] = 0.1
    """λ of `orpo`: weight of the odds ratio beside the language-model loss of the preferred side."""

    @model_validator(mode="after")
    def _options_belong_to_the_loss(self) -> "DPOSpec":
        idle = [name for name in sorted(OPTIONS) if name not in self.traits.options]
        self.refuse_idle(idle, f'with `loss` = "{self.loss}"')
        if self.traits.needs_beta and "beta" not in self.model_fields_set:
            raise ValueError(
                f'`loss` = "{self.loss}" needs `beta`, the scale of a mean log-probability: 2 to 2.5 in the paper. Its default '
                f"({self.beta:g}) is for sums of log-ratios"
            )
        return self

    @property
    def traits(self) -> PairLossKind:
        """The properties of the loss."""
        return PAIR_LOSSES[self.loss]


class KTOSpec(RowsSpec):
    """Kahneman-Tversky optimisation (Ethayarajh et al. 2024): the policy learns from single completions with a thumb up or down, without a reward model, pairs or sampling."""

    epochs: Epochs = 1
    """Passes over the thumbs."""
    batch_size: Annotated[int, Field(ge=2), Countable, BETWEEN_STAGES, MAIN, Amount("rows in a batch")] = 64
    """Thumbs per optimizer step. The reference point z₀ is estimated from this batch, so a small one makes it noisy; two are the least."""
    learning_rate: PeakRate = 1e-6
    """Peak learning rate of AdamW."""
    beta: Annotated[Positive, MID_STAGE, MAIN] = 0.1
    """β: how strongly the policy is held to the reference."""
    desirable_weight: Annotated[Positive, BETWEEN_STAGES] = 1.0
    """λ_D: weight of the rows with a thumb up."""
    undesirable_weight: Annotated[Positive, BETWEEN_STAGES] = 1.0
    """λ_U: weight of the rows with a thumb down. The paper advises λ_D·n_D / (λ_U·n_U) between 1 and 4/3, n_D and n_U the numbers of thumbs up and down; `python -m trainer check` compares them."""


class EvaluationSpec(Section):
    """The trained policy against the one before it on held-out prompts, paired by prompt."""

    prompts: Annotated[PositiveInt, MAIN] = 128
    """Held-out prompts to use, at most; the same ones in the loop and at the end. Left out: 512, but in a job with PPO at most a quarter of the responses that it trains on between two evaluations, and at least 128. The job's stored spec holds the number."""
    batch_size: Annotated[PositiveInt, Amount("rows in a batch")] = 64
    """Prompts sampled at once."""
    temperature: Positive = 1.0
    """Sampling temperature of both policies."""
    max_new_tokens: PositiveInt | None = None
    """Longest response. Left out: `ppo.max_new_tokens`."""
    judge: Annotated[str | JudgeSpec | None, MAIN] = None
    """The judge of two completions: the name of an installed judge (entry-point group `proximal.judges`), any reward (a second reward model, a rule), or an HTTP endpoint that compares pairs. Left out: the rewards of the run."""
    against: Annotated[Path | None, Names("policy")] = None
    """Checkpoint or model that the evaluation stage compares with. Left out: the policy as it was before PPO (or KTO, or DPO). The evaluations during PPO, `keep_best` and the health rules always compare with the policy as PPO began."""
    keep_best: bool = True
    """Keep the best PPO checkpoint beside the last one. The best has the highest held-out win rate against the policy as PPO began. Equal win rates are decided by the judge's mean score, then the mean score by the rewards (both higher), then the KL (lower). The first of equal ones wins. The evaluation stage measures it again, with new draws (`best_win_rate`)."""
    pass_at: PassAtSpec | None = None
    """pass@k of both policies, and of PPO's best checkpoint, in the evaluation stage. Left out: none."""


def total_steps(items: int, spec: SFTSpec | RewardModelSpec | DPOSpec | KTOSpec) -> int:
    """Steps that take every item `epochs` times; the last one may be smaller."""
    return math.ceil(items * spec.epochs / spec.batch_size)
