"""PPO: the reward that is optimised, made from the score of a response and the KL to the reference policy or a teacher."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from trainer.spec.facts import BETWEEN_STAGES, MAIN, MID_STAGE, LiveKnob, Names
from trainer.spec.section import Countable, Fraction, NonNegative, Path, Positive, PositiveInt, Section

if TYPE_CHECKING:
    from trainer.spec.ppo import PPOSpec


def _no_coefficient(ppo: "PPOSpec") -> str | None:
    if ppo.kl.controller in ("linear", "cosine"):
        return f'`ppo.kl.controller` = "{ppo.kl.controller}" computes the coefficient from the step.'
    if ppo.policy_loss.traits.holds_reference:
        kind = ppo.policy_loss.kind
        return f'`ppo.policy_loss.kind` = "{kind}" has no KL coefficient: it is held by `ppo.policy_loss.beta`.'
    return None


def _no_target(ppo: "PPOSpec") -> str | None:
    if ppo.kl.controller == "adaptive":
        return None
    return f'`ppo.kl.controller` = "{ppo.kl.controller}" has no target: only "adaptive" has one.'


_COEF_KNOB = LiveKnob(
    "kl_coef",
    label="KL coefficient",
    unit="β",
    new="KL coefficient β",
    most=100.0,
    missing=_no_coefficient,
    above_minimum=lambda ppo: bool(ppo.kl.controller == "adaptive"),  # the controller only multiplies it
)
_TARGET_KNOB = LiveKnob(
    "kl_target",
    label="KL target",
    unit="nats per response",
    new="KL target of the adaptive controller, in nats per response",
    most=10_000.0,
    missing=_no_target,
)


class KLSpec(Section):
    """The KL penalty that holds the policy near the reference policy."""

    coef: Annotated[NonNegative, MAIN, _COEF_KNOB] = 0.05
    """β: weight of the KL penalty. If `controller` changes it, this is the initial one. The live knob `kl_coef` changes it during the run."""
    placement: Literal["reward", "loss"] = "reward"
    """Inside the reward of each token (Ziegler et al. 2019), or added to the policy loss (GRPO)."""
    estimator: Literal["k1", "k2", "k3"] = "k1"
    """Estimator of KL(π ‖ π_ref) at a sampled token, with x = log π − log π_ref (Schulman 2020): k1 = x, k2 = x²/2, k3 = exp(−x) − 1 + x. In the reward only k1 has the gradient of the KL. k2 and k3 need `placement` = "loss"."""
    unbiased_gradient: bool = True
    """In the loss: weigh the estimate by the ratio π/π_old so that its expected gradient is the KL's own. False: the plain derivative of the estimate. At π = π_old its mean is the gradient of the KL for k2, and that of the reverse KL for k3 (as GRPO has it). For k1 the mean is 0, so k1 needs true."""
    controller: Annotated[Literal["fixed", "adaptive", "linear", "cosine"], MAIN] = "fixed"
    """How β changes. `fixed`: it is constant. `adaptive`: proportional control towards `target` (Ziegler et al. 2019, eq. 4 and 5). `linear`, `cosine`: down to `final_coef` along a line or half a cosine."""
    target: Annotated[Positive, _TARGET_KNOB] = 6.0
    """Nats per response that `adaptive` steers to. The live knob `kl_target` changes it during the run."""
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
    """The policy that the KL is measured against."""

    path: Annotated[Path | None, MID_STAGE, Names("policy")] = None
    """Checkpoint or model. Left out: the policy as the stage starts."""
    update: Annotated[Literal["fixed", "reanchored", "ema"], BETWEEN_STAGES] = "fixed"
    """`fixed`: it never changes. `reanchored`: a fresh copy of the policy every `every` iterations. `ema`: an exponential moving average of the policy."""
    every: Annotated[PositiveInt, MID_STAGE] = 1
    """Iterations between copies, for `reanchored`."""
    decay: Annotated[float, Field(gt=0, lt=1), MID_STAGE] = 0.995
    """π_ref ← decay·π_ref + (1 − decay)·π after each iteration, for `ema`. The two factors of an adapter are averaged separately."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "ReferenceSpec":
        if self.update != "reanchored":
            self.refuse_idle(["every"], f'with `update` = "{self.update}"')
        if self.update != "ema":
            self.refuse_idle(["decay"], f'with `update` = "{self.update}"')
        return self


class TeacherSpec(Section):
    """On-policy distillation: reverse KL to a teacher on the policy's own responses (GKD, arXiv 2306.13649, and MiniLLM, arXiv 2306.08543). Each token gets `coef`·(log π_teacher − log π_old) as advantage, beside that of the rewards or alone."""

    path: Annotated[Path, Names("policy")]
    """Hub id, folder or checkpoint of the teacher, a causal language model with the policy's tokenizer. It may be larger and of another architecture."""
    coef: Positive = 1.0
    """Weight of the teacher's part of the advantage, in nats. It is added after the advantage of the rewards is normalised."""
    discount: Fraction = 0.0
    """Discount of the log-ratios of later tokens. 0: each token has its own log-ratio alone, whose expected gradient is that of the exact KL of the token's distribution (GKD). 1: all later ones too, for the gradient of the KL of whole responses (MiniLLM), with much more variance."""


def refuse_idle_without_rewards(ppo: "PPOSpec") -> None:
    """Raise ValueError for a run without rewards that has no teacher, or that sets fields which only a reward gives an effect."""
    if ppo.teacher is None:
        raise ValueError(
            "`stages` names 'ppo': it needs `rewards`, \"reward_model\" in `stages`, or a teacher (`ppo.teacher`)"
        )
    why = "without `rewards`: the teacher's part is the whole advantage"
    if (ppo.advantage.estimator, ppo.advantage.normalize) != ("sequence", "none"):
        raise ValueError(
            '`ppo.advantage` needs `estimator` = "sequence" and `normalize` = "none" without `rewards`: the teacher\'s part is '
            "the whole advantage, so a critic has nothing to learn and a normalisation nothing to scale"
        )
    if ppo.kl.in_reward:
        raise ValueError(
            f'`ppo.kl.placement` = "reward" has no effect {why}. Set `ppo.kl.coef` = 0, or `ppo.kl.placement` = "loss" to stay '
            "near the reference too"
        )
    ppo.advantage.refuse_idle(["gamma", "baseline"], why)
    ppo.shaping.refuse_idle(type(ppo.shaping).model_fields, why)
    ppo.refuse_idle(["positive_examples", "curriculum"], why)


class ShapingSpec(Section):
    """How a response's score becomes the optimised score, in this order: normalise, clip, missing EOS, length, overlong. Token rewards are normalised and clipped one by one."""

    normalize: Literal["none", "running"] = "none"
    """`running`: divided by the standard deviation of all scores so far (Engstrom et al. 2020), which a resume keeps."""
    clip: Positive | None = None
    """Scores are clipped to ± this."""
    missing_eos: Literal["subtract", "replace"] = "subtract"
    """Score of a response that was cut off without an EOS. `subtract`: the penalty is subtracted. `replace`: the score is minus the penalty (Huang et al. 2024: −1)."""
    missing_eos_penalty: NonNegative = 1.0
    """Penalty of a response that was cut off without an EOS."""
    length_penalty: NonNegative = 0.0
    """Subtracted for every token beyond `length_free`."""
    length_free: Annotated[int, Field(ge=0), Countable] = 0
    """Tokens without a length penalty."""
    overlong_tokens: PositiveInt | None = None
    """Soft overlong punishment (DAPO, Yu et al. 2025, eq. 13): over the last so many tokens before `max_new_tokens`, a penalty rises from 0 to `overlong_penalty`. Left out: none."""
    overlong_penalty: Positive = 1.0
    """Penalty of a response of `max_new_tokens` tokens, for `overlong_tokens`. One that was cut off has that for a missing EOS too, unless `missing_eos_penalty` is 0."""
    whiten_rewards: bool = False
    """Scale the token rewards (KL included) to variance 1 over the batch, their mean kept (Huang et al. 2024)."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "ShapingSpec":
        if self.length_penalty == 0:
            self.refuse_idle(["length_free"], "without `length_penalty`")
        if self.overlong_tokens is None:
            self.refuse_idle(["overlong_penalty"], "without `overlong_tokens`")
        return self
