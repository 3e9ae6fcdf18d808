"""PPO: how advantages are estimated, and the critic that estimates values."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.facts import BETWEEN_STAGES, MAIN, MID_STAGE, Amount, LiveKnob
from trainer.spec.model import AdapterSpec, LoraSpec, ModelSpec
from trainer.spec.nulls import with_nulls
from trainer.spec.ppo_critics import CriticHeadsSpec
from trainer.spec.section import Countable, Fraction, LearningRate, Positive, PositiveInt, Schedule, Section

if TYPE_CHECKING:
    from trainer.spec.ppo import PPOSpec


class AdvantageSpec(Section):
    """How much better a token was than expected."""

    estimator: Annotated[Literal["gae", "reward_to_go", "sequence"], BETWEEN_STAGES, MAIN] = "gae"
    """`gae`: generalised advantage estimation with a critic (Schulman et al. 2016). `reward_to_go`: the discounted rewards from the token on, without a critic (Williams 1992). `sequence`: the whole response is one action, and each token has its return (Ahmadian et al. 2024)."""
    gamma: Annotated[Fraction, MID_STAGE] = 1.0
    """γ: discount per token."""
    gae_lambda: Annotated[Fraction, MID_STAGE] = 0.95
    """λ of GAE: 1 is Monte Carlo, 0 is one-step temporal difference."""
    length_adaptive: Annotated[Positive | None, MID_STAGE] = None
    """α: λ = 1 − 1/(α·length) for each response in place of `gae_lambda`, so that long responses are not discounted away (VAPO, Yue et al. 2025). Left out: the same λ for all."""
    critic_lambda: Annotated[Fraction | None, MID_STAGE] = None
    """λ of the returns that the critic learns, apart from the policy's (decoupled GAE; VC-PPO, Yuan et al. 2025, and VAPO: 1). `gae_lambda` or `length_adaptive` then holds for the advantages alone. Left out: the policy's λ for both."""
    bootstrap_truncated: Annotated[bool, MID_STAGE] = False
    """Treat a response cut off by `max_new_tokens` as unfinished. Its return then ends with the critic's value after the last token in place of its score. The missing-EOS penalty still counts. False: the response ends there, with its score."""
    baseline: Annotated[
        Literal["none", "batch_mean", "leave_one_out", "group_mean", "optimal_value"], BETWEEN_STAGES
    ] = "none"
    """Value subtracted from the return without a critic. `batch_mean`: the mean of the batch's returns. `leave_one_out`: the mean of the other responses to the same prompt (RLOO, Kool et al. 2019). `group_mean`: the mean of all responses to the prompt (GRPO, Shao et al. 2024). `optimal_value`: the prompt's V* (A*-PO, Brantley et al. 2025). With `reward_to_go` each mean is taken per position. A response that ended earlier counts there with the return of its last token."""
    normalize: Annotated[Literal["whiten", "group_std", "none"], MID_STAGE] = "whiten"
    """`whiten`: mean 0 and variance 1 over the batch's response tokens. `group_std`: divided by the standard deviation of the returns of the same prompt (GRPO). `none`: unchanged."""
    whiten_floor: Annotated[float, Field(ge=0, le=1e9), MID_STAGE] = 0.0
    """Smallest standard deviation that `whiten` divides by, in the units of the shaped rewards. Where all scores of a batch are equal, a critic's advantages are its errors. Without a floor, these are scaled to variance 1, and can ruin a solved task."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "AdvantageSpec":
        if self.normalize != "whiten":
            self.refuse_idle(["whiten_floor"], f'with `normalize` = "{self.normalize}"')
        if self.estimator == "gae":
            self.refuse_idle(["baseline"], 'with `estimator` = "gae": the critic is the baseline')
            if self.normalize == "group_std":
                raise ValueError('`normalize` = "group_std" needs `estimator` = "sequence" or "reward_to_go"')
        else:
            self.refuse_idle(
                ["gae_lambda", "length_adaptive", "critic_lambda", "bootstrap_truncated"],
                f'with `estimator` = "{self.estimator}": it has no critic',
            )
        if self.gamma < 1 and self.baseline == "optimal_value":
            raise ValueError(
                '`baseline` = "optimal_value" needs `gamma` = 1: V* is worked out from whole scores without a discount'
            )
        if self.gamma < 1 and self.estimator == "reward_to_go" and self.normalize == "group_std":
            raise ValueError(
                '`normalize` = "group_std" with `estimator` = "reward_to_go" needs `gamma` = 1. It divides by the deviation '
                "of whole returns, which a discount makes smaller than those of later tokens"
            )
        return self


def _no_rate(ppo: "PPOSpec") -> str | None:
    if not ppo.uses_critic:
        return f'`ppo.advantage.estimator` = "{ppo.advantage.estimator}" has no critic.'
    if ppo.has_value_head:
        return '`ppo.critic.kind` = "value_head" learns with the policy: change `learning_rate`.'
    return None


_RATE_KNOB = LiveKnob(
    "critic_learning_rate",
    label="Learning rate of the critic",
    unit="peak, per step",
    new="peak learning rate of a separate critic",
    missing=_no_rate,
)


_Layers = Annotated[int, Field(ge=0), Countable]
_NARROWEST = 1e-6


class ValuePretrainingSpec(Section):
    """Value pretraining (VC-PPO, arXiv 2503.01491): before the first iteration, the critic learns Monte-Carlo returns of the policy that PPO starts from. It ends at the first of these ends."""

    explained_variance: Annotated[float | None, Field(gt=0, le=1)] = None
    """It ends once the critic explains this share of the variance of the returns of a new batch. Left out: no such end."""
    patience: PositiveInt = 10
    """It ends after so many iterations in a row without a new highest explained variance."""
    iterations: Annotated[PositiveInt, Amount("steps")] = 100
    """Most iterations, which come before those of `ppo.steps`. Each samples a batch."""


class ValueClassificationSpec(Section):
    """Value loss by classification: the critic learns a distribution over bins by cross-entropy. Its value is the mean of that distribution (Imani & White 2018; Farebrother et al. 2024, arXiv 2403.03950)."""

    low: Annotated[float, Field(ge=-1e9, le=1e9)]
    """Lower end of the range of values, in the units of the critic's targets: shaped rewards, with the KL of `kl.placement` = "reward". A target outside of the range is learned as its nearest end, and counted by the metric `val/returns_outside_bins`."""
    high: Annotated[float, Field(ge=-1e9, le=1e9)]
    """Upper end of the range. The first values of a new critic are the middle of the range."""
    target: Literal["hl_gauss", "two_hot"] = "hl_gauss"
    """Distribution of a target. `hl_gauss`: that of a Gaussian around it over bins of equal width. `two_hot`: the two nearest of equally spaced values from `low` to `high`, so weighted that their mean is the target."""
    bins: Annotated[int, Field(ge=2, le=4096)] = 51
    """Number of bins, and of outputs of the critic's head."""
    sigma: Annotated[float, Field(ge=0.01, le=10)] = 0.75
    """σ of the Gaussian of `hl_gauss`, in widths of a bin."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "ValueClassificationSpec":
        if self.high - self.low < _NARROWEST:
            raise ValueError(f"`high` ({self.high}) must be above `low` ({self.low}) by at least {_NARROWEST}")
        if self.target == "two_hot":
            self.refuse_idle(["sigma"], 'with `target` = "two_hot"')
        return self

    @property
    def width(self) -> float:
        """The distance of two neighbouring bins."""
        return (self.high - self.low) / (self.bins - (self.target == "two_hot"))


class ValueNormalizationSpec(Section):
    """PopArt (van Hasselt et al. 2016, arXiv 1602.07714): the critic learns normalised returns, with the running mean μ and standard deviation σ of its targets. When these move, the head is rescaled so that no value changes."""

    rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    """β: share of the newest batch in the mean and the second moment. The first batches count more, so that the moments are weighted means of the targets so far."""


class CriticSpec(Section):
    """The value function of `advantage.estimator` = "gae"."""

    kind: Annotated[Literal["separate", "value_head"], BETWEEN_STAGES] = "separate"
    """`separate`: a model of its own with its own optimizer; `value_head`: a scalar head on the policy's trunk, one optimizer for both."""
    initial: Annotated[Literal["auto", "reward_model", "policy"], BETWEEN_STAGES] = "auto"
    """Initial weights of a separate critic: the reward model, or the policy with a new head whose output is 0. `auto`: the reward model if the run has one on the policy's tokenizer, else the policy."""
    train: Annotated[Literal["all", "all_but_attention", "last_layers", "adapters"], BETWEEN_STAGES] = "all"
    """The parameters of a separate critic that learn; the others keep their initial values, without gradient and optimizer. `all_but_attention`: those outside of the attention modules (the frozen attention of SAO, arXiv 2607.07508). `last_layers`: the head and the last `last_layers` layers. `adapters`: the head and low-rank adapters on a frozen copy. With `model.lora` the choice is among the critic's adapters."""
    last_layers: Annotated[_Layers | None, BETWEEN_STAGES] = None
    """Layers that learn beside the head, counted from the last one, for `train` = "last_layers". 0: the head alone. Embeddings and the norm after the layers do not learn."""
    adapters: Annotated[AdapterSpec | None, BETWEEN_STAGES] = None
    """The adapters of `train` = "adapters". Left out: the defaults of `model.lora`."""
    learning_rate: Annotated[LearningRate, MID_STAGE, MAIN, _RATE_KNOB] = 1e-5
    """Peak learning rate of a separate critic. The live knob `critic_learning_rate` changes it during the stage."""
    schedule: Annotated[Schedule | None, MID_STAGE] = None
    """Shape of the learning rate of a separate critic after its warm-up. Left out: `ppo.lr_schedule`. If that is "kl_adaptive", the rate changes by the same factors as the policy's."""
    warmup_ratio: Annotated[Fraction | None, MID_STAGE] = None
    """Share of the iterations over which the learning rate of a separate critic rises from 0. Left out: `ppo.warmup_ratio`."""
    epochs: Annotated[PositiveInt | None, MID_STAGE, Amount("epochs")] = None
    """Passes of a separate critic over each batch of responses (SAO, arXiv 2607.07508: 2 for one of the policy). Left out: `ppo.epochs`. With another number of passes or minibatches than the policy's, the critic learns after the policy, and `ppo.guards` holds for the policy alone."""
    minibatches: Annotated[PositiveInt | None, MID_STAGE] = None
    """Optimizer steps of a separate critic per pass; must divide `ppo.batch_size`. Left out: `ppo.minibatches`."""
    coef: Annotated[Positive, MID_STAGE] = 0.1
    """Weight of the value loss beside the policy loss, for `value_head`."""
    targets: Annotated[Literal["lambda_returns", "monte_carlo"], MID_STAGE] = "lambda_returns"
    """The returns that the critic learns. `lambda_returns`: TD(λ), with `advantage.critic_lambda` or else the policy's λ. `monte_carlo`: the discounted rewards to come, as with `critic_lambda` = 1."""
    classification: Annotated[ValueClassificationSpec | None, BETWEEN_STAGES] = None
    """Value loss by classification. Left out: the squared error."""
    normalization: Annotated[ValueNormalizationSpec | None, BETWEEN_STAGES] = None
    """Value normalisation by PopArt. Left out: the critic learns returns in their own units."""
    heads: Annotated[CriticHeadsSpec | None, BETWEEN_STAGES] = None
    """Several critics as heads of one backbone. Left out: one critic."""
    value_clip_range: Annotated[Positive | None, MID_STAGE] = 0.2
    """New values are clipped to within this distance of the old ones; with `normalization` in units of σ. Null (in TOML: false) turns value clipping off. With `classification` it must be null, which is then the default."""
    warmup_steps: Annotated[int, Field(ge=0), Countable, BETWEEN_STAGES] = 0
    """First iterations of `ppo.steps` in which only the critic learns."""
    pretraining: Annotated[ValuePretrainingSpec | None, BETWEEN_STAGES] = None
    """Value pretraining, whose length is not fixed. Left out: none."""

    @model_validator(mode="before")
    @classmethod
    def _false_turns_clipping_off(cls, value: object) -> object:
        """TOML has no null."""
        if isinstance(value, dict) and value.get("value_clip_range") is False:
            return {**value, "value_clip_range": None}
        return value

    @model_validator(mode="before")
    @classmethod
    def _classification_has_no_clipping(cls, value: object) -> object:
        """A cross-entropy is that of a whole distribution, of which no value is clipped."""
        if isinstance(value, dict) and with_nulls(value.get("classification")) is not None:
            return {"value_clip_range": None, **value}
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> "CriticSpec":
        if self.kind == "separate":
            self.refuse_idle(["coef"], 'with `kind` = "separate": it has its own optimizer')
        else:
            self.refuse_idle(
                ["train"],
                'with `kind` = "value_head": the head is all that such a critic has of its own, and its trunk is the policy\'s',
            )
            self.refuse_idle(
                ["initial", "learning_rate", "schedule", "warmup_ratio"],
                'with `kind` = "value_head": it learns with the policy',
            )
            self.refuse_idle(
                ["epochs", "minibatches"],
                'with `kind` = "value_head": the gradient of the value loss also reaches the policy\'s trunk, so both learn in '
                "the policy's passes",
            )
        if self.train == "last_layers" and self.last_layers is None:
            raise ValueError(
                '`train` = "last_layers" needs `last_layers`, the number of layers that learn beside the head'
            )
        if self.classification is not None and self.value_clip_range is not None:
            raise ValueError(
                "`value_clip_range` clips a value, but `classification` compares whole distributions: leave out one of the two, or "
                "set `value_clip_range` to null"
            )
        if self.classification is not None and self.normalization is not None:
            raise ValueError(
                "`normalization` rescales a scalar head, but `classification` has an output per bin of a fixed range and a loss "
                "that is bounded already: leave out one of the two"
            )
        for field in ("last_layers", "adapters"):
            if self.train != field:
                self.refuse_idle([field], f'without `train` = "{field}"')
        return self

    @property
    def has_frozen_parts(self) -> bool:
        """Whether parameters of a separate critic keep their initial values."""
        return self.kind == "separate" and self.train != "all"

    @property
    def has_own_parts(self) -> bool:
        """Whether a separate critic differs in its parts from a reward model of which all parameters learn."""
        own_head = any(part is not None for part in (self.classification, self.normalization, self.heads))
        return self.has_frozen_parts or (self.kind == "separate" and own_head)

    @property
    def count(self) -> int:
        """The number of critics."""
        return 1 if self.heads is None else self.heads.count

    def adapted(self, model: ModelSpec) -> ModelSpec:
        """The settings of the model of a critic that learns by adapters of its own."""
        adapters = self.adapters or AdapterSpec()
        return model.model_copy(update={"lora": LoraSpec(**adapters.model_dump(), share_backbone=False)})


class OptimalValueSpec(Section):
    """V* of every prompt, before the first iteration: β·log mean exp(r/β) over responses of the reference (A*-PO, eq. 3)."""

    samples: PositiveInt = 8
    """Responses per prompt."""
    beta: Positive = 0.5
    """β: how far V* lies above the mean, towards the best."""
