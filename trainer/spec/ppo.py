"""PPO and its relatives: a choice of advantage, policy loss, KL placement and reference policy.

Each default is that of PPO in Huang et al. (2024), "N+ implementation details", but for the schedule of the learning rate. `docs/explanation/ppo.md` has the formula
and the source of each part, `examples/` has the relatives as recipes.
"""

from typing import Annotated, Any

from pydantic import Field, model_validator

from trainer.spec.facts import BETWEEN_STAGES, MAIN, MID_STAGE, Amount, Change
from trainer.spec.nulls import is_null
from trainer.spec.ppo_advantage import AdvantageSpec, CriticSpec, OptimalValueSpec, ValuePretrainingSpec
from trainer.spec.ppo_critics import refuse_unfit_heads
from trainer.spec.ppo_loss import LOSS_KINDS, GuardsSpec, PolicyLossSpec, PtxSpec
from trainer.spec.ppo_reward import KLSpec, ReferenceSpec, ShapingSpec, TeacherSpec
from trainer.spec.ppo_rollout import CurriculumSpec, RolloutSpec
from trainer.spec.rewards import RewardSpec
from trainer.spec.section import AdaptiveSchedule, Countable, LearningRate, Positive, PositiveInt, Section
from trainer.spec.stages import Epochs, OptimizerSpec, PeakRate

StopText = Annotated[str, Field(min_length=1, max_length=200)]
_SAMPLING = Change("mid_stage", in_waiting=True)


class OnlineSpec(Section):
    """Online iterative RLHF (Bai et al. 2022, §4.5, and Dong et al. 2024). Every round labels fresh pairs of the policy and refits the reward model."""

    rounds: Annotated[int, Field(ge=2), Countable] = 3
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
    """Peak learning rate of the refit. Left out: `reward_model.learning_rate`."""


class AdaptiveRateSpec(Section):
    """How `lr_schedule` = "kl_adaptive" changes the learning rate between iterations (rsl_rl, rl_games; β in Schulman et al. 2017, §4)."""

    target: Positive = 0.03
    """KL(π_old ‖ π) after an iteration's updates, in nats per token. Above twice this, the rate is divided by `factor`. Below half of it, the rate is multiplied, up to four times where it is far too low."""
    factor: Annotated[float, Field(gt=1, le=10)] = 1.5
    """Factor of one change of the rate."""
    minimum: LearningRate = 1e-7
    """Lowest learning rate of the policy, and of a critic that follows it."""
    maximum: LearningRate = 1e-2
    """Highest learning rate of the policy, and of a critic that follows it."""

    @model_validator(mode="after")
    def _bounds_are_ordered(self) -> "AdaptiveRateSpec":
        if self.minimum >= self.maximum:
            raise ValueError(f"`minimum` ({self.minimum:g}) must be less than `maximum` ({self.maximum:g})")
        return self


class PositiveExamplesSpec(Section):
    """Language-model loss on the batch's positive responses, beside the policy loss (VAPO, Yue et al. 2025, arXiv 2504.05118). It needs no further pass."""

    coef: Positive = 0.1
    """μ: weight of the mean of −log π over the tokens of these responses, at the sampling temperature. The mean is that of an optimizer step. Importance weights and clipping do not hold for it."""
    above: float = 0.0
    """A response is positive if its score is above this number. The score is the weighted sum of its rewards before shaping."""


class PPOSpec(OptimizerSpec):
    """Proximal policy optimisation against the rewards (Schulman et al. 2017; Ziegler et al. 2019), and its relatives."""

    steps: Annotated[PositiveInt, MID_STAGE, MAIN, Amount("steps")] = 100
    """Iterations: each samples one batch of responses and updates on it."""
    batch_size: Annotated[PositiveInt, _SAMPLING, MAIN, Amount("rows in a batch")] = 64
    """Responses per iteration."""
    samples_per_prompt: Annotated[PositiveInt, _SAMPLING] = 1
    """Responses to each prompt of the batch (the group of RLOO and GRPO); must divide `batch_size`."""
    epochs: Epochs = 4
    """Passes over each batch of responses."""
    minibatches: Annotated[PositiveInt, MID_STAGE, MAIN] = 4
    """Optimizer steps per pass; must divide `batch_size`."""
    learning_rate: PeakRate = 3e-6
    """Peak learning rate of the policy, or the one that `kl_adaptive` begins with. The live knob `learning_rate` changes it during the stage."""
    lr_schedule: Annotated[AdaptiveSchedule, MID_STAGE] = "auto"  # type: ignore[assignment]  # two schedules more
    """Shape of both learning rates after warm-up: constant, or down to 0 along a line or a cosine. `kl_adaptive`: raised or lowered after each iteration by the KL that it moved the policy, as `adaptive_rate` has it. `auto`: `linear` where `learning_rate`, `guards.target_kl` or `policy_loss.old_kl_target` is named, otherwise `kl_adaptive`. A critic whose `learning_rate` is named then has the schedule `linear`."""
    adaptive_rate: Annotated[AdaptiveRateSpec, MID_STAGE] = AdaptiveRateSpec()
    """Options of `lr_schedule` = "kl_adaptive"."""
    adam_eps: Annotated[Positive, MID_STAGE] = 1e-5
    """Adam's epsilon; 1e-5 tames early updates (Huang et al. 2024)."""
    max_new_tokens: Annotated[PositiveInt, _SAMPLING, MAIN] = 64
    """Longest response, in tokens."""
    stop: Annotated[tuple[StopText, ...], Field(max_length=16), _SAMPLING] = ()
    """Texts that end a response, beside the tokenizer's EOS and the stops of the model's generation_config.json, in evaluation too. A response is cut after the token that completes the first of them; rewards see the text before it. A special token, such as "<|im_end|>", may be given by its text."""
    temperature: Annotated[Positive, _SAMPLING, MAIN] = 1.0
    """Sampling temperature; the log-probabilities of the update are taken at the same one."""
    rollout: Annotated[RolloutSpec, MID_STAGE] = RolloutSpec()
    """How the responses are sampled."""
    curriculum: Annotated[CurriculumSpec | None, MID_STAGE] = None
    """Draw prompts by their measured difficulty. Left out: in shuffled passes over all of them."""
    advantage: AdvantageSpec = AdvantageSpec()
    """How much better a token was than expected."""
    policy_loss: Annotated[PolicyLossSpec, MID_STAGE] = PolicyLossSpec()
    """The loss that the policy minimises."""
    critic: CriticSpec = CriticSpec()
    """The value function."""
    kl: Annotated[KLSpec, MID_STAGE] = KLSpec()
    """The KL penalty that holds the policy near the reference."""
    reference: ReferenceSpec = ReferenceSpec()
    """The policy that the KL is measured against."""
    teacher: Annotated[TeacherSpec | None, MID_STAGE] = None
    """On-policy distillation from a teacher. Left out: none. Without `rewards` the teacher's part is the whole advantage."""
    shaping: Annotated[ShapingSpec, MID_STAGE] = ShapingSpec()
    """How a score becomes a reward."""
    guards: Annotated[GuardsSpec, MID_STAGE] = GuardsSpec()
    """Limits on the steps inside an iteration."""
    ptx: Annotated[PtxSpec | None, MID_STAGE] = None
    """Pretraining mix; left out: none."""
    positive_examples: Annotated[PositiveExamplesSpec | None, MID_STAGE] = None
    """Language-model loss on positive responses. Left out: none."""
    optimal_value: Annotated[OptimalValueSpec, BETWEEN_STAGES] = OptimalValueSpec()
    """Options of `advantage.baseline` = "optimal_value"."""
    online: Annotated[OnlineSpec | None, BETWEEN_STAGES] = None
    """Online iterative RLHF; left out: the reward model stays as it is."""
    self_test: Annotated[bool, BETWEEN_STAGES] = True
    """Test the models on real prompts before the first iteration. The ratio must be 1, the KL to the reference 0, and padding must change nothing. Sampled and recomputed log-probabilities must agree, and stored answers must score as they did. A run that fails the test stops."""
    save_every: Annotated[PositiveInt, MID_STAGE] = 10
    """Iterations between checkpoints to resume from."""
    eval_every: Annotated[PositiveInt, MID_STAGE, MAIN] = 10
    """Iterations between evaluations on held-out prompts."""
    log_samples: Annotated[int, Field(ge=0, le=64), MID_STAGE] = 8
    """Completions of each batch that are logged."""
    log_token_tables: Annotated[int, Field(ge=0, le=16), MID_STAGE] = 4
    """Number of these completions that are logged token by token (log-probabilities, KL, value, advantage, entropy, ratio, clipped) at every evaluation. Together they have at most 4096 tokens."""
    log_held_out: Annotated[int, Field(ge=0, le=64), MID_STAGE] = 8
    """Held-out prompts whose completions are logged at every evaluation, beside those of the policy before PPO. They are always the first ones, so that a prompt can be followed over the run."""

    @model_validator(mode="before")
    @classmethod
    def _named_rate_is_kept(cls, value: Any) -> Any:
        """Resolve `lr_schedule` = "auto". A stored spec names every field, so it holds the schedule that was chosen."""
        if not isinstance(value, dict) or value.get("lr_schedule", "auto") != "auto":
            return value
        steered = "learning_rate" in value or any(
            _names(value.get(section), field)
            for section, field in (("guards", "target_kl"), ("policy_loss", "old_kl_target"))
        )
        adapts = "adaptive_rate" in value or not steered
        resolved = value | {"lr_schedule": "kl_adaptive" if adapts else "linear"}
        critic = value.get("critic")
        if adapts and isinstance(critic, dict) and "learning_rate" in critic and "schedule" not in critic:
            resolved["critic"] = critic | {"schedule": "linear"}
        return resolved

    @model_validator(mode="after")
    def _sizes_divide(self) -> "PPOSpec":
        if self.batch_size % self.minibatches:
            raise ValueError(f"`minibatches` ({self.minibatches}) must divide `batch_size` ({self.batch_size})")
        if self.batch_size % (self.critic.minibatches or 1):
            raise ValueError(
                f"`critic.minibatches` ({self.critic.minibatches}) must divide `batch_size` ({self.batch_size})"
            )
        if self.batch_size % self.samples_per_prompt:
            raise ValueError(
                f"`samples_per_prompt` ({self.samples_per_prompt}) must divide `batch_size` ({self.batch_size})"
            )
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> "PPOSpec":
        self.rollout.refuse_temperature("temperature", self.temperature)
        overlong = self.shaping.overlong_tokens
        if overlong is not None and overlong > self.max_new_tokens:
            raise ValueError(
                f"`shaping.overlong_tokens` ({overlong}) must not be more than `max_new_tokens` ({self.max_new_tokens})"
            )
        if self.compares_in_groups and self.samples_per_prompt < 2:
            raise ValueError("`samples_per_prompt` must be at least 2 for a baseline or a deviation of the group")
        if self.advantage.baseline != "optimal_value":
            self.refuse_idle(["optimal_value"], 'without `advantage.baseline` = "optimal_value"')
        else:
            self._optimal_value_fits()
        if not self.uses_critic:
            self.refuse_idle(["critic"], f'with `advantage.estimator` = "{self.advantage.estimator}"')
        if self.critic.targets == "monte_carlo" and self.advantage.critic_lambda is not None:
            raise ValueError(
                '`critic.targets` = "monte_carlo" is `advantage.critic_lambda` = 1, which is '
                f"{self.advantage.critic_lambda:g} here: leave out one of the two"
            )
        if self.reference.update == "reanchored" and self.reference.every == 1 and self.kl.placement == "reward":
            raise ValueError(
                'a reference "reanchored" at every iteration is the policy that samples, so a KL in the reward is always 0: '
                'set `kl.placement` = "loss", or a larger `reference.every`'
            )
        if self.online is not None and self.online.rounds > self.steps:
            raise ValueError(f"`online.rounds` ({self.online.rounds}) must not be more than `steps` ({self.steps})")
        refuse_unfit_heads(self)
        self._policy_loss_fits()
        self._correction_fits()
        self._staleness_fits()
        self._prompts_fit()
        self._rate_fits()
        return self

    def _rate_fits(self) -> None:
        rate, named = self.adaptive_rate, '`lr_schedule` = "kl_adaptive"'
        if not self.rate_adapts:
            self.refuse_idle(["adaptive_rate"], f"without {named}")
            return
        if not rate.minimum <= self.learning_rate <= rate.maximum:
            raise ValueError(
                f"`learning_rate` ({self.learning_rate:g}), with which {named} begins, must be from `adaptive_rate.minimum` "
                f"({rate.minimum:g}) to `adaptive_rate.maximum` ({rate.maximum:g})"
            )
        if self.critic_rate_follows and not rate.minimum <= self.critic.learning_rate <= rate.maximum:
            raise ValueError(
                f"`critic.learning_rate` ({self.critic.learning_rate:g}), which follows {named}, must be from "
                f"`adaptive_rate.minimum` ({rate.minimum:g}) to `adaptive_rate.maximum` ({rate.maximum:g}), or the critic needs a "
                "`critic.schedule` of its own"
            )
        if self.guards.target_kl is not None and self.guards.target_kl < rate.target / 2:
            raise ValueError(
                f"`guards.target_kl` ({self.guards.target_kl:g}) ends every iteration below half of `adaptive_rate.target` "
                f"({rate.target:g}), so the rate would rise to its maximum: lower the target"
            )
        if self.policy_loss.old_kl_target is not None:
            raise ValueError(
                f"{named} and `policy_loss.old_kl_target` both steer the KL to the old policy: set one of them"
            )

    def _optimal_value_fits(self) -> None:
        """Raise ValueError for settings that rescale the returns after V* was estimated from shaped scores of the reference."""
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

    def _policy_loss_fits(self) -> None:
        named, traits = f'`policy_loss.kind` = "{self.policy_loss.kind}"', self.policy_loss.traits
        if traits.check_advantage is not None:
            traits.check_advantage(self.advantage)
        if traits.holds_reference and self.kl.coef:
            raise ValueError(f"{named} holds the tie to the reference itself (`policy_loss.beta`): set `kl.coef` = 0")
        if not traits.per_token and self.rollout.importance_cap not in ("auto", None):
            raise ValueError(f"`rollout.importance_cap` has no effect with {named}")
        if not traits.per_token:
            self.rollout.refuse_idle(["correction"], f"with {named}")
        if self.teacher is not None and traits.check_advantage is not None:
            raise ValueError(
                f"`teacher` with {named}: this loss fits whole responses to their scores, so the log-ratios of single tokens "
                "would have the wrong gradient. Set another `policy_loss.kind`"
            )

    def _correction_fits(self) -> None:
        """Raise ValueError for a ratio to the sampler where the loss has no such ratio, or where its gradient is wrong."""
        correction, loss, kl = self.rollout.correction, self.policy_loss, self.kl
        if not correction.bypasses and not correction.interpolates:
            return
        named = f'`rollout.correction.denominator` = "{correction.denominator}"'
        if not loss.traits.has_ratio:
            fitting = ", ".join(f'"{name}"' for name, kind in LOSS_KINDS.items() if kind.has_ratio)
            raise ValueError(
                f'{named} needs a loss of the ratio π/π_old ({fitting}). `policy_loss.kind` = "{loss.kind}" would stay uncorrected'
            )
        if correction.masks and self.epochs > 1:
            raise ValueError(
                f"a mask with {named} and `epochs` = {self.epochs}: the mask reads a ratio of π, which the first pass has moved. "
                "Later passes would drop the tokens that the update itself moved most, whatever the gap to the sampler. Set "
                '`epochs` = 1, or `rollout.correction.denominator` = "old"'
            )
        if correction.bypasses and kl.placement == "loss" and not kl.unbiased_gradient:
            raise ValueError(
                f"{named} leaves the KL in the loss without a weight where `kl.unbiased_gradient` = false: its tokens are the "
                'sampler\'s. Set `kl.unbiased_gradient` = true, or `rollout.correction.denominator` = "old"'
            )

    def _staleness_fits(self) -> None:
        """Raise ValueError for older responses that nothing corrects for, and for a bound that no iteration reaches."""
        rollout = self.rollout
        if rollout.asynchronous and not self.policy_loss.traits.per_token:
            raise ValueError(
                f'`policy_loss.kind` = "{self.policy_loss.kind}" learns on policy: its loss is one of whole responses, so no '
                "weight of a token corrects for an older sampling policy. Leave out `rollout.asynchronous` and "
                "`rollout.staleness`"
            )
        if rollout.staleness is not None and rollout.staleness >= self.most_steps:
            raise ValueError(
                f"`rollout.staleness` ({rollout.staleness}) must be less than the number of steps ({self.most_steps}): no "
                "iteration would learn from a policy of so many steps before"
            )

    def _prompts_fit(self) -> None:
        """Raise ValueError for groups that would be dropped although they teach, and for prompts that are chosen too early."""
        if self.curriculum is not None and self.rollout.asynchronous:
            raise ValueError(
                "`curriculum` with `rollout.asynchronous`: the prompts of responses that are sampled ahead are chosen before the "
                "scores of the iterations between are known. Leave out one of the two"
            )
        if self.rollout.refill is not None and self.advantage.baseline not in ("leave_one_out", "group_mean"):
            baseline = "the critic" if self.uses_critic else f'`advantage.baseline` = "{self.advantage.baseline}"'
            raise ValueError(
                '`rollout.refill` needs `advantage.baseline` = "leave_one_out" or "group_mean": responses with equal scores teach '
                f"nothing against the mean of their own group, but they do against {baseline}"
            )
        if self.rollout.refill is not None and self.teacher is not None:
            raise ValueError(
                "`rollout.refill` with `teacher`: responses with equal scores teach nothing against the mean of their group, but "
                "they do against the teacher. Leave out one of the two"
            )

    @property
    def accumulates(self) -> bool:
        return super().accumulates or self.ptx is not None

    @property
    def compares_in_groups(self) -> bool:
        """Whether a response is compared with the others to its prompt."""
        return self.advantage.baseline in ("leave_one_out", "group_mean") or self.advantage.normalize == "group_std"

    @property
    def rate_adapts(self) -> bool:
        """Whether the learning rate follows the KL of the iterations."""
        return self.lr_schedule == "kl_adaptive"

    @property
    def critic_rate_follows(self) -> bool:
        """Whether the learning rate of a separate critic changes by the factors of the policy's."""
        return self.rate_adapts and self.has_separate_critic and self.critic.schedule is None

    @property
    def uses_critic(self) -> bool:
        return self.advantage.estimator == "gae"

    @property
    def has_separate_critic(self) -> bool:
        """Whether the critic is a model with its own optimizer."""
        return self.uses_critic and self.critic.kind == "separate"

    @property
    def of_critic(self) -> "PPOSpec":
        """The section as a separate critic learns by it: its peak rate, schedule, warm-up, passes and minibatches as the policy's."""
        critic = self.critic
        own = {
            "learning_rate": critic.learning_rate,
            "lr_schedule": critic.schedule,
            "warmup_ratio": critic.warmup_ratio,
            "epochs": critic.epochs,
            "minibatches": critic.minibatches,
        }
        return self.model_copy(update={name: value for name, value in own.items() if value is not None})

    @property
    def critic_learns_apart(self) -> bool:
        """Whether a separate critic takes other passes or minibatches than the policy."""
        own = self.of_critic
        return self.has_separate_critic and (own.epochs, own.minibatches) != (self.epochs, self.minibatches)

    @property
    def critic_lambda(self) -> float | None:
        """λ of the critic's targets, if it is named apart from the policy's."""
        return 1.0 if self.critic.targets == "monte_carlo" else self.advantage.critic_lambda

    @property
    def normalizes_values(self) -> bool:
        """Whether the critic learns normalised returns."""
        return self.uses_critic and self.critic.normalization is not None

    @property
    def has_value_head(self) -> bool:
        """Whether the critic is a head on the policy's trunk, which learns with the policy."""
        return self.uses_critic and self.critic.kind == "value_head"

    @property
    def pretraining(self) -> ValuePretrainingSpec | None:
        """The value pretraining of the critic; None without."""
        return self.critic.pretraining if self.uses_critic else None

    @property
    def most_steps(self) -> int:
        """The most steps of the stage: those of value pretraining, whose number is not known ahead, and `steps`."""
        return self.steps + (self.pretraining.iterations if self.pretraining else 0)

    @property
    def while_pretraining(self) -> "PPOSpec":
        """The section as it holds in a step of value pretraining.

        Only the critic learns, from Monte-Carlo returns, by classification or by the squared error without clipping. The policy
        does not move, so there is no change of the returns that clipping could slow down. The reference does not move either.
        """
        critic = self.critic.model_copy(update={"warmup_steps": 1, "value_clip_range": None})
        changed = {
            "critic": critic,
            "advantage": self.advantage.model_copy(update={"critic_lambda": 1.0}),
            "reference": self.reference.model_copy(update={"update": "fixed"}),
        }
        return self.model_copy(update=changed)

    def update_gives_old_logprobs(self, iteration: int) -> bool:
        """Whether iteration `iteration` (0-based) takes π_old from the forward pass of its one optimizer step.

        A KL in the reward and a teacher need π_old before that step, and so does a warm-up, in which the policy makes no pass.
        """
        one_step = self.epochs == 1 and self.minibatches == 1
        recomputed = self.rollout.logprobs == "recomputed"
        needed_before = self.kl.in_reward or self.teacher is not None or self.only_critic_learns(iteration)
        return one_step and recomputed and not needed_before

    def only_critic_learns(self, iteration: int) -> bool:
        """Whether iteration `iteration` (0-based) belongs to the critic's warm-up."""
        return self.uses_critic and iteration < self.critic.warmup_steps


def _names(section: Any, field: str) -> bool:
    """Whether a section of a spec, as JSON or validated, has a value in a field that is left out by default."""
    value = section.get(field) if isinstance(section, dict) else getattr(section, field, None)
    return value is not None and not is_null(value)
