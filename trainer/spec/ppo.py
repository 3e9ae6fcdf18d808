"""PPO and its relatives, as a choice of parts: advantage × policy loss × where the KL sits × which reference.

Every default is PPO as in Huang et al. (2024), the "N+ implementation details"; `docs/explanation/ppo.md` has each part's formula and
source, `examples/` the relatives as recipes.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.base import Fraction, LearningRate, NonNegative, Path, Positive, PositiveInt, Schedule, Section
from trainer.spec.rewards import RewardSpec
from trainer.spec.rollout import RolloutSpec
from trainer.spec.stages import OptimizerSpec

StopText = Annotated[str, Field(min_length=1, max_length=200)]


class AdvantageSpec(Section):
    """How much better a token was than expected."""

    estimator: Literal["gae", "reward_to_go", "sequence"] = "gae"
    """`gae`: generalised advantage estimation with a critic (Schulman et al. 2016); `reward_to_go`: the discounted rewards from the token on, no critic (Williams 1992); `sequence`: the whole response is one action, its return stands at every token (Ahmadian et al. 2024)."""
    gamma: Fraction = 1.0
    """γ: discount per token."""
    gae_lambda: Fraction = 0.95
    """λ of GAE: 1 is Monte Carlo, 0 is one-step temporal difference."""
    length_adaptive: Positive | None = None
    """α: λ = 1 − 1/(α·length) for each response in place of `gae_lambda`, so that long responses are not discounted away (VAPO, Yue et al. 2025). Left out: the same λ for all."""
    bootstrap_truncated: bool = False
    """A response cut off by `max_new_tokens` has not ended: its score is left out, and the critic's value of the state after its last token stands for what would have come (the missing-EOS penalty still counts). False: it ended there, with its score."""
    baseline: Literal["none", "batch_mean", "leave_one_out", "group_mean", "optimal_value"] = "none"
    """Subtracted from the return without a critic: the mean of the batch's returns; of the other responses to the same prompt (RLOO, Kool et al. 2019); of all responses to the prompt (GRPO, Shao et al. 2024); or the prompt's V* (A*-PO, Brantley et al. 2025). With `reward_to_go` each mean is taken per position; a response that ended earlier counts there with the return of its last token."""
    normalize: Literal["whiten", "group_std", "none"] = "whiten"
    """`whiten`: mean 0 and variance 1 over the batch's response tokens; `group_std`: divided by the standard deviation of the returns of the same prompt (GRPO); `none`: as they are."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "AdvantageSpec":
        if self.estimator == "gae":
            self.refuse_idle(["baseline"], 'with `estimator` = "gae": the critic is the baseline')
            if self.normalize == "group_std":
                raise ValueError('`normalize` = "group_std" needs `estimator` = "sequence" or "reward_to_go"')
        else:
            self.refuse_idle(
                ["gae_lambda", "length_adaptive", "bootstrap_truncated"],
                f'with `estimator` = "{self.estimator}": it has no critic',
            )
        if self.gamma < 1 and self.baseline == "optimal_value":
            raise ValueError(
                '`baseline` = "optimal_value" needs `gamma` = 1: V* is worked out from whole scores without a discount'
            )
        if self.gamma < 1 and self.estimator == "reward_to_go" and self.normalize == "group_std":
            raise ValueError(
                '`normalize` = "group_std" with `estimator` = "reward_to_go" needs `gamma` = 1: it divides by the deviation of '
                "the returns from the first token on, which a discount makes smaller than those of later tokens"
            )
        return self


class PolicyLossSpec(Section):
    """What the policy minimises, given advantages."""

    kind: Literal["clipped", "unclipped", "reinforce", "kl_penalty", "least_squares"] = "clipped"
    """ρ = π/π_old, A the advantage. `clipped`: max(−Aρ, −A·clip(ρ)) (Schulman et al. 2017, eq. 7); `unclipped`: −Aρ; `reinforce`: −A·log π; `kl_penalty`: −Aρ + β·KL(π_old ‖ π) (Schulman et al. 2017, §4); `least_squares`: (`beta`·log π/π_ref − A)² per response (A*-PO)."""
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """ε: the ratio is clipped to [1 − ε, 1 + ε]."""
    clip_range_high: Positive | None = None
    """Upper ε of its own, clip-higher (DAPO, Yu et al. 2025: 0.28). Left out: `clip_range`."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """c: where A < 0 the loss is at most −c·A (Ye et al. 2020: 3). Left out: no second clip."""
    beta: Positive = 1.0
    """β of `kl_penalty` (the first one, where `old_kl_target` adapts it) and of `least_squares`."""
    old_kl_target: Positive | None = None
    """Adapts β of `kl_penalty` after every iteration: halved where KL(π_old ‖ π) < target/1.5, doubled where > 1.5·target. Left out: fixed."""
    entropy_coef: NonNegative = 0.0
    """Weight of the entropy bonus."""
    aggregation: Literal["token_mean", "sequence_mean", "fixed_length"] = "token_mean"
    """Over the whole optimizer step, whatever the micro-batches: the mean over its tokens; the mean over responses of each one's mean; or the sum over tokens ÷ (responses × `max_new_tokens`), so that a token weighs the same in a short and a long response (Dr. GRPO, Liu et al. 2025)."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "PolicyLossSpec":
        without = f'with `kind` = "{self.kind}"'
        if self.kind != "clipped":
            self.refuse_idle(["clip_range", "clip_range_high", "dual_clip"], without)
        if self.kind not in ("kl_penalty", "least_squares"):
            self.refuse_idle(["beta"], without)
        if self.kind != "kl_penalty":
            self.refuse_idle(["old_kl_target"], without)
        if self.kind == "least_squares":
            self.refuse_idle(["aggregation"], without + ": it is a mean over responses")
        return self


class CriticSpec(Section):
    """The value function of `advantage.estimator` = "gae"."""

    kind: Literal["separate", "value_head"] = "separate"
    """`separate`: a model of its own with its own optimizer; `value_head`: a scalar head on the policy's trunk, one optimizer for both."""
    initial: Literal["auto", "reward_model", "policy"] = "auto"
    """What a separate critic starts as: the reward model, or the policy with a new head whose output is 0. `auto`: the reward model where the run has one on the policy's tokenizer, else the policy."""
    learning_rate: LearningRate = 1e-5
    """Peak learning rate of a separate critic."""
    coef: Positive = 0.1
    """Weight of the value loss beside the policy loss, for `value_head`."""
    value_clip_range: Positive | None = 0.2
    """New values are clipped to within this distance of the old ones; null (in TOML: false) turns value clipping off."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """First iterations in which only the critic learns."""

    @model_validator(mode="before")
    @classmethod
    def _false_turns_clipping_off(cls, value: object) -> object:
        """TOML has no null."""
        if isinstance(value, dict) and value.get("value_clip_range") is False:
            return {**value, "value_clip_range": None}
        return value

    @model_validator(mode="after")
    def _parts_fit(self) -> "CriticSpec":
        if self.kind == "separate":
            self.refuse_idle(["coef"], 'with `kind` = "separate": it has its own optimizer')
        else:
            self.refuse_idle(["initial", "learning_rate"], 'with `kind` = "value_head": it learns with the policy')
        return self


class KLSpec(Section):
    """The tie to the reference policy."""

    coef: NonNegative = 0.05
    """β: weight of the KL penalty; the first one, where `controller` changes it."""
    placement: Literal["reward", "loss"] = "reward"
    """Inside the reward of each token (Ziegler et al. 2019), or added to the policy loss (GRPO)."""
    estimator: Literal["k1", "k2", "k3"] = "k1"
    """Of KL(π ‖ π_ref) at a sampled token, with x = log π − log π_ref (Schulman 2020): k1 = x; k2 = x²/2; k3 = exp(−x) − 1 + x. In the reward only k1 has the gradient of the KL; k2 and k3 need `placement` = "loss"."""
    unbiased_gradient: bool = True
    """In the loss: weigh the estimate by the ratio π/π_old so that its expected gradient is the KL's own. False: the plain derivative of the estimate. At π = π_old its mean is the gradient of the KL for k2, and that of the reverse KL for k3 (as GRPO has it). For k1 the mean is 0, so k1 needs true."""
    controller: Literal["fixed", "adaptive", "linear", "cosine"] = "fixed"
    """How β changes: not at all; by proportional control towards `target` (Ziegler et al. 2019, eq. 4–5); or down to `final_coef` along a line or half a cosine."""
    target: Positive = 6.0
    """Nats per response that `adaptive` steers to."""
    horizon: PositiveInt = 10_000
    """Responses over which `adaptive` answers to an error: β ← β·(1 + clip(KL/target − 1, ±0.2)·batch/horizon)."""
    final_coef: NonNegative = 0.0
    """β at the last iteration, for `linear` and `cosine`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "KLSpec":
        if self.placement == "reward":
            self.refuse_idle(["unbiased_gradient"], 'with `placement` = "reward"')
            if self.estimator != "k1":
                raise ValueError(
                    f'`estimator` = "{self.estimator}" has the wrong gradient with `placement` = "reward": a reward only '
                    "weighs log-probabilities and is not differentiated itself, so near the reference the penalty almost "
                    'vanishes. Set `estimator` = "k1" or `placement` = "loss"'
                )
        elif self.estimator == "k1" and not self.unbiased_gradient:
            raise ValueError(
                '`estimator` = "k1" with `unbiased_gradient` = false has no effect: the expected derivative of log π is 0. '
                'Set `unbiased_gradient` = true, or `estimator` = "k2" or "k3"'
            )
        if self.controller != "adaptive":
            self.refuse_idle(["target", "horizon"], f'with `controller` = "{self.controller}"')
        elif self.coef == 0:
            raise ValueError("`coef` must be above 0 for the adaptive controller: it only ever multiplies it")
        if self.controller not in ("linear", "cosine"):
            self.refuse_idle(["final_coef"], f'with `controller` = "{self.controller}"')
        return self

    @property
    def in_reward(self) -> bool:
        """Whether the rewards of any iteration hold a KL penalty."""
        return self.placement == "reward" and max(self.coef, self.final_coef) > 0


class ReferenceSpec(Section):
    """The policy that the KL is taken to."""

    path: Path | None = None
    """Checkpoint or model. Left out: the policy as the stage starts."""
    update: Literal["fixed", "reanchored", "ema"] = "fixed"
    """`fixed`; `reanchored`: a fresh copy of the policy every `every` iterations; `ema`: moves a little after each iteration."""
    every: PositiveInt = 1
    """Iterations between copies, for `reanchored`."""
    decay: Annotated[float, Field(gt=0, lt=1)] = 0.995
    """π_ref ← decay·π_ref + (1 − decay)·π after each iteration, for `ema`. Of adapters: of their two factors, each by itself."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "ReferenceSpec":
        if self.update != "reanchored":
            self.refuse_idle(["every"], f'with `update` = "{self.update}"')
        if self.update != "ema":
            self.refuse_idle(["decay"], f'with `update` = "{self.update}"')
        return self


class ShapingSpec(Section):
    """From the score of a response to what is optimised, in this order: normalise, clip, missing EOS, length. Rewards that stand on tokens are normalised and clipped one by one."""

    normalize: Literal["none", "running"] = "none"
    """`running`: divided by the standard deviation of all scores so far (Engstrom et al. 2020), which a resume keeps."""
    clip: Positive | None = None
    """Scores are clipped to ± this."""
    missing_eos: Literal["subtract", "replace"] = "subtract"
    """What happens to the score of a response that was cut off without an EOS: the penalty is subtracted, or minus the penalty stands in its place (Huang et al. 2024: −1)."""
    missing_eos_penalty: NonNegative = 1.0
    """For a response that was cut off without an EOS."""
    length_penalty: NonNegative = 0.0
    """Subtracted for every token beyond `length_free`."""
    length_free: Annotated[int, Field(ge=0)] = 0
    """Tokens without a length penalty."""
    whiten_rewards: bool = False
    """Scale the token rewards (KL included) to variance 1 over the batch, their mean kept (Huang et al. 2024)."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "ShapingSpec":
        if self.length_penalty == 0:
            self.refuse_idle(["length_free"], "without `length_penalty`")
        return self


class GuardsSpec(Section):
    """Brakes inside an iteration."""

    target_kl: Positive | None = None
    """End the iteration's passes once a minibatch's KL to the sampling policy (`approxkl`) exceeds this, before its step. Left out: never."""
    lr_cut_kl: Positive | None = None
    """Multiply the learning rates by `lr_cut_factor` for the next `lr_cut_steps` optimizer steps once a minibatch's KL to the sampling policy exceeds this (usual: 0.015). Left out: never."""
    lr_cut_factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Of `lr_cut_kl`."""
    lr_cut_steps: PositiveInt = 100
    """Of `lr_cut_kl`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "GuardsSpec":
        if self.lr_cut_kl is None:
            self.refuse_idle(["lr_cut_factor", "lr_cut_steps"], "without `lr_cut_kl`")
        return self


class PtxSpec(Section):
    """PPO-ptx: the language-model loss on `data.pretraining`, mixed into every step of the policy (Ouyang et al. 2022, eq. 2)."""

    coef: Positive = 1.0
    """Weight of the mean loss per token. (InstructGPT's γ = 27.8 weighs a sum, not a mean.)"""
    batch_size: PositiveInt = 8
    """Texts per optimizer step."""
    max_tokens: PositiveInt = 512
    """Longer texts are cut."""


class OptimalValueSpec(Section):
    """V* of every prompt, before the first iteration: β·log mean exp(r/β) over responses of the reference (A*-PO, eq. 3)."""

    samples: PositiveInt = 8
    """Responses per prompt."""
    beta: Positive = 0.5
    """β: how far V* lies above the mean, towards the best."""


class OnlineSpec(Section):
    """Online iterative RLHF: every round, label fresh pairs of the policy, refit the reward model, and go on (Bai et al. 2022, §4.5; Dong et al. 2024)."""

    rounds: Annotated[int, Field(ge=2)] = 3
    """Rounds into which `ppo.steps` is divided; the reward model is refitted between them."""
    prompts: PositiveInt = 256
    """Prompts per round, two responses each."""
    label_by: str | RewardSpec | None = None
    """The preference source: an installed judge by name, or any reward; the response with the higher value is preferred. Left out: `evaluation.judge`."""
    noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Share of the labels that are flipped, to stand for human error."""
    epochs: PositiveInt = 1
    """Passes of the refit over the pairs of this round and as many old ones."""
    learning_rate: LearningRate | None = None
    """Of the refit. Left out: `reward_model.learning_rate`."""


class PPOSpec(OptimizerSpec):
    """Proximal policy optimisation against the rewards (Schulman et al. 2017; Ziegler et al. 2019), and its relatives."""

    steps: PositiveInt = 100
    """Iterations: each samples one batch of responses and updates on it."""
    batch_size: PositiveInt = 64
    """Responses per iteration."""
    samples_per_prompt: PositiveInt = 1
    """Responses to each prompt of the batch (the group of RLOO and GRPO); must divide `batch_size`."""
    epochs: PositiveInt = 4
    """Passes over each batch of responses."""
    minibatches: PositiveInt = 4
    """Optimizer steps per pass; must divide `batch_size`."""
    learning_rate: LearningRate = 3e-6
    """Peak learning rate of the policy."""
    lr_schedule: Schedule = "linear"
    """Shape of both learning rates after warm-up: constant, or down to 0 along a line or a cosine."""
    adam_eps: Positive = 1e-5
    """Adam's epsilon; 1e-5 tames early updates (Huang et al. 2024)."""
    max_new_tokens: PositiveInt = 64
    """Longest response, in tokens."""
    stop: Annotated[tuple[StopText, ...], Field(max_length=16)] = ()
    """Texts that end a response, beside the tokenizer's EOS and the stops of the model's generation_config.json, in evaluation too. A response is cut after the token that completes the first of them; rewards see the text before it. A special token, such as "<|im_end|>", may be given by its text."""
    temperature: Positive = 1.0
    """Sampling temperature; the log-probabilities of the update are taken at the same one."""
    rollout: RolloutSpec = RolloutSpec()
    """How the responses are sampled."""
    advantage: AdvantageSpec = AdvantageSpec()
    """How much better a token was than expected."""
    policy_loss: PolicyLossSpec = PolicyLossSpec()
    """What the policy minimises."""
    critic: CriticSpec = CriticSpec()
    """The value function."""
    kl: KLSpec = KLSpec()
    """The tie to the reference policy."""
    reference: ReferenceSpec = ReferenceSpec()
    """The policy that the KL is taken to."""
    shaping: ShapingSpec = ShapingSpec()
    """From the score to the reward."""
    guards: GuardsSpec = GuardsSpec()
    """Brakes inside an iteration."""
    ptx: PtxSpec | None = None
    """Pretraining mix; left out: none."""
    optimal_value: OptimalValueSpec = OptimalValueSpec()
    """For `advantage.baseline` = "optimal_value"."""
    online: OnlineSpec | None = None
    """Online iterative RLHF; left out: the reward model stays as it is."""
    self_test: bool = True
    """Before the first iteration, on real prompts: the ratio is 1 and the KL to the reference 0, padding changes nothing, sampled and recomputed log-probabilities agree, and stored answers score as they did. A run that fails it is stopped."""
    save_every: PositiveInt = 10
    """Iterations between checkpoints to resume from."""
    eval_every: PositiveInt = 10
    """Iterations between evaluations on held-out prompts."""
    log_samples: Annotated[int, Field(ge=0, le=64)] = 8
    """Completions of each batch that are logged."""
    log_token_tables: Annotated[int, Field(ge=0, le=16)] = 1
    """Of those, completions logged token by token (log-probabilities, KL, value, advantage, clipped) at every evaluation."""

    @model_validator(mode="after")
    def _sizes_divide(self) -> "PPOSpec":
        if self.batch_size % self.minibatches:
            raise ValueError(f"`minibatches` ({self.minibatches}) must divide `batch_size` ({self.batch_size})")
        if self.batch_size % self.samples_per_prompt:
            raise ValueError(
                f"`samples_per_prompt` ({self.samples_per_prompt}) must divide `batch_size` ({self.batch_size})"
            )
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> "PPOSpec":
        grouped = self.advantage.baseline in ("leave_one_out", "group_mean") or self.advantage.normalize == "group_std"
        if grouped and self.samples_per_prompt < 2:
            raise ValueError("`samples_per_prompt` must be at least 2 for a baseline or a deviation of the group")
        if self.advantage.baseline != "optimal_value":
            self.refuse_idle(["optimal_value"], 'without `advantage.baseline` = "optimal_value"')
        else:
            self._optimal_value_fits()
        if not self.uses_critic:
            self.refuse_idle(["critic"], f'with `advantage.estimator` = "{self.advantage.estimator}"')
        if self.reference.update == "reanchored" and self.reference.every == 1 and self.kl.placement == "reward":
            raise ValueError(
                'a reference "reanchored" at every iteration is the policy that samples, so a KL in the reward is always 0: '
                'set `kl.placement` = "loss", or a larger `reference.every`'
            )
        if self.online is not None and self.online.rounds > self.steps:
            raise ValueError(f"`online.rounds` ({self.online.rounds}) must not be more than `steps` ({self.steps})")
        if self.policy_loss.kind == "least_squares":
            self._least_squares_fits()
            if self.rollout.importance_cap not in ("auto", None):
                raise ValueError('`rollout.importance_cap` has no effect with `policy_loss.kind` = "least_squares"')
        return self

    def _optimal_value_fits(self) -> None:
        """V* is estimated once, from shaped scores of the reference: what changes the return later must leave its scale."""
        rescaled = "rescales the returns after V* was estimated, so the two are no longer in the same units"
        if self.shaping.whiten_rewards:
            raise ValueError(f'`shaping.whiten_rewards` with `advantage.baseline` = "optimal_value" {rescaled}')
        if self.shaping.normalize == "running":
            raise ValueError(
                f'`shaping.normalize` = "running" with `advantage.baseline` = "optimal_value" {rescaled}: set it to "none"'
            )
        if self.reference.update != "fixed":
            raise ValueError(
                '`advantage.baseline` = "optimal_value" needs `reference.update` = "fixed": V* is that of the first reference'
            )

    def _least_squares_fits(self) -> None:
        if self.advantage.baseline != "optimal_value":
            raise ValueError(
                '`policy_loss.kind` = "least_squares" needs `advantage.baseline` = "optimal_value": it fits '
                "`beta`·log π/π_ref to the score less V*, which has no solution for another baseline"
            )
        if self.advantage.estimator != "sequence" or self.advantage.normalize != "none":
            raise ValueError(
                '`policy_loss.kind` = "least_squares" needs `advantage.estimator` = "sequence" and `normalize` = "none"'
            )
        if self.kl.coef:
            raise ValueError(
                '`policy_loss.kind` = "least_squares" holds the tie to the reference itself (`policy_loss.beta`): set `kl.coef` = 0'
            )

    @property
    def accumulates(self) -> bool:
        return super().accumulates or self.ptx is not None

    @property
    def uses_critic(self) -> bool:
        return self.advantage.estimator == "gae"

    def update_gives_old_logprobs(self, iteration: int) -> bool:
        """Whether iteration `iteration` (0-based) takes π_old from the forward pass of its one optimizer step.

        A KL in the reward needs π_old before that step, and so does a warm-up, in which the policy makes no pass.
        """
        one_step = self.epochs == 1 and self.minibatches == 1
        recomputed = self.rollout.logprobs == "recomputed"
        return one_step and recomputed and not self.kl.in_reward and not self.only_critic_learns(iteration)

    def only_critic_learns(self, iteration: int) -> bool:
        """Whether iteration `iteration` (0-based) belongs to the critic's warm-up."""
        return self.uses_critic and iteration < self.critic.warmup_steps
