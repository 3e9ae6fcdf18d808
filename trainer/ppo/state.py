"""Everything of a PPO run that changes between iterations, and its one save and one restore.

The policy and a separate critic are saved and loaded as models (`session/checkpoint.py`). All else is here: optimizer
moments, a moving reference, the adaptive coefficients, the history of the run, and the responses sampled ahead.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainer.distributed.sharding import slice_of
from trainer.errors import ModelError
from trainer.events import CurvePoint, finite
from trainer.health import Monitor
from trainer.models import Model
from trainer.models.members import levels_of
from trainer.models.value_units import ValueUnits, change_units, set_units
from trainer.ppo.experience import Experience
from trainer.ppo.kl import (
    AdaptedCoefficient,
    KLCoefficients,
    adapted_coef,
    adapted_old_kl_beta,
    adapted_rate,
    scheduled_coef,
)
from trainer.ppo.learners import Learners
from trainer.ppo.stored_numbers import FORMAT, in_present_format
from trainer.ppo.value_pretraining import ValuePretraining
from trainer.rewards.missing import MissingWatch
from trainer.rollout.context import PPOContext
from trainer.rollout.refill import FurtherDraws
from trainer.rollout.shaping import RunningScale
from trainer.selection import evaluation_figures, is_better
from trainer.session.checkpoint import TrainerState, load_numbers, load_optimizer
from trainer.spec import PPOSpec, ReferenceSpec
from trainer.spec.knobs import Knob, KnobSetting, Origin, origin_of
from trainer.stages.tokenized_rows import TokenizedPair

_BEST_FIGURES = ("win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")
_STORED_APART = ("monitor", "curve", "value_pretraining", "missing", "further")
"""Parts of a RunHistory with a form of their own in a checkpoint."""
_CURVE_FIGURES = ("sqrt_kl", "score", "judge", "win_rate")


@dataclass
class RunHistory:
    """The run so far, for the health rules, the best checkpoint and the curve. A roll-back does not undo it."""

    monitor: Monitor
    rate_factor: float = 1.0
    """Factor of all learning rates; each roll-back halves it."""
    roll_backs: int = 0
    skipped: int = 0
    """Optimizer steps that were skipped because a loss or gradient was not finite."""
    entropy: float | None = None
    """Entropy of the newest iteration that reported one."""
    best_step: int | None = None
    best: dict[str, float] = field(default_factory=dict)
    """Figures of the best evaluation (`trainer/selection.py`); empty before the first. Steps that were rolled back or
    skipped in part are excluded."""
    curve: list[CurvePoint] = field(default_factory=list)
    value_pretraining: ValuePretraining = field(default_factory=ValuePretraining)
    missing: MissingWatch = field(default_factory=MissingWatch)
    """The share of responses without a value, by reward."""
    further: FurtherDraws = field(default_factory=FurtherDraws)
    """The draws of the refills (`ppo.rollout.refill`), which the rollout producer counts."""

    def add(self, step: int, metrics: dict[str, float], may_be_best: bool = True) -> bool:
        """Add a step's metrics. Return whether it is the best evaluation so far.

        With `may_be_best` False, the evaluation is added to the curve but is never the best.
        """
        self.entropy = metrics.get("policy/entropy_avg", self.entropy)
        figures = evaluation_figures(finite(metrics))
        if "win_rate" not in figures:
            return False
        point = {name: figures[name] for name in _CURVE_FIGURES if name in figures}
        if "sqrt_kl" in point:  # else it was not finite, and the point has no place on the curve
            self.curve.append(CurvePoint(step=step, **point))
        if not may_be_best or not is_better(figures, self.best):
            return False
        self.best_step, self.best = step, {name: figures[name] for name in _BEST_FIGURES if name in figures}
        return True

    def summary(self, best_is_kept: bool) -> dict[str, float]:
        """Return the figures for the stage's result.

        `selection_win_rate` is a maximum over evaluations and therefore too high. The evaluation stage measures the best
        checkpoint again (`best_win_rate`).
        """
        summary = {}
        if best_is_kept and self.best_step is not None:
            summary = {"best_step": float(self.best_step), "selection_win_rate": self.best["win_rate"]}
        first = self.monitor.first("policy/entropy_avg")
        if first and self.entropy is not None:
            summary["entropy_kept"] = self.entropy / first
        return summary

    def to_json(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name not in _STORED_APART}
        return values | {
            "monitor": self.monitor.state(),
            "curve": [point.model_dump() for point in self.curve],
            "value_pretraining": asdict(self.value_pretraining),
            "missing": self.missing.to_json(),
            "further": self.further.to_json(),
        }

    def restore(self, values: dict[str, Any]) -> None:
        """Take over the values that `to_json` returned."""
        self.monitor.restore(values["monitor"])
        self.curve = [CurvePoint(**point) for point in values["curve"]]
        self.value_pretraining = ValuePretraining.from_json(values.get("value_pretraining"))
        self.missing = MissingWatch.from_json(values.get("missing", {}))
        self.further.restore(values.get("further", {}))
        for name, value in values.items():
            if name not in _STORED_APART:
                setattr(self, name, value)


@dataclass
class PPOState:
    """The numbers that change between iterations. JSON stores and restores them without rounding."""

    kl_coef: AdaptedCoefficient
    """β of the KL to the reference, if the controller is adaptive."""
    old_kl_beta: AdaptedCoefficient
    """β of the KL to the old policy."""
    rate: AdaptedCoefficient
    """Peak learning rate of the policy, if it follows the KL (`ppo.lr_schedule` = "kl_adaptive")."""
    critic_rate: AdaptedCoefficient
    """Peak learning rate of a separate critic that follows the policy's."""
    history: RunHistory
    cut_steps_left: int = 0
    """Optimizer steps that remain at a cut learning rate (`ppo.guards.lr_cut_kl`)."""
    scale: RunningScale = field(default_factory=RunningScale)
    """Spread of all scores so far."""
    value_units: ValueUnits = field(default_factory=ValueUnits)
    """μ and σ of the critic's targets so far, if they are normalised."""
    optimal_values: list[float | None] = field(default_factory=list)
    """V* of each training prompt, if the baseline is "optimal_value"; else empty. None: no response had a value."""
    refits: int = 0
    """Number of times that the reward model was refitted (`ppo.online`)."""
    pairs: list[TokenizedPair] = field(default_factory=list)
    """The labelled pairs of the policy's own answers from these refits."""

    @classmethod
    def initial(cls, spec: PPOSpec, monitor: Monitor) -> "PPOState":
        """The state of a stage that starts. The coefficients begin with the values of the spec."""
        begun = AdaptedCoefficient.beginning_with
        values = (spec.kl.coef, spec.policy_loss.beta, spec.learning_rate, spec.critic.learning_rate)
        coef, beta, rate, critic_rate = (begun(Origin(value)) for value in values)
        return cls(coef, beta, rate, critic_rate, RunHistory(monitor))

    def follow(self, spec: PPOSpec, settings: Mapping[Knob, KnobSetting]) -> None:
        """Begin an adapted coefficient again if it was set anew since: by a live knob, or by a change of the spec.

        `spec` has the values of the live knobs; `settings` are these knobs. A roll-back restores a coefficient that was
        adapted from an earlier setting, and this method then applies the present one.
        """
        self.kl_coef = self.kl_coef.under(origin_of(spec, "kl_coef", settings))
        self.old_kl_beta = self.old_kl_beta.under(Origin(spec.policy_loss.beta))
        self.rate = self.rate.under(origin_of(spec, "learning_rate", settings))
        self.critic_rate = self.critic_rate.under(origin_of(spec, "critic_learning_rate", settings))

    def kl_coefficients(self, spec: PPOSpec, iteration: int) -> KLCoefficients:
        """The coefficients that hold during this iteration."""
        adaptive = spec.kl.controller == "adaptive"
        coef = self.kl_coef.value if adaptive else scheduled_coef(spec.kl, iteration, spec.steps)
        return KLCoefficients(coef, self.old_kl_beta.value)

    def peak_rates(self, spec: PPOSpec) -> tuple[float, float]:
        """The peak learning rates of the policy and of a separate critic, before the factor of the roll-backs."""
        policy = self.rate.value if spec.rate_adapts else spec.learning_rate
        return policy, self.critic_rate.value if spec.critic_rate_follows else spec.critic.learning_rate

    def adapt(
        self, spec: PPOSpec, iteration: int, kl: float, old_kl: float | None, responses: int | None = None
    ) -> None:
        """Adapt the coefficients and the rate to the KL to the reference (nats per response) and to the old policy (per token).

        `responses` is the number of responses behind the KL; None: the whole batch.

        A KL that is not finite leaves the coefficient unchanged, because it could never be a number again. The critic's
        warm-up leaves all unchanged, because the policy does not move.
        """
        if spec.only_critic_learns(iteration):
            return
        count = spec.batch_size if responses is None else responses
        if spec.kl.controller == "adaptive" and math.isfinite(kl):
            self.kl_coef = self.kl_coef.adapted_to(adapted_coef(self.kl_coef.value, kl, count, spec.kl))
        if old_kl is not None:
            beta = adapted_old_kl_beta(self.old_kl_beta.value, old_kl, spec.policy_loss)
            self.old_kl_beta = self.old_kl_beta.adapted_to(beta)
        if spec.rate_adapts and old_kl is not None and math.isfinite(old_kl):
            before, bounds = self.rate.value, spec.adaptive_rate
            self.rate = self.rate.adapted_to(adapted_rate(before, old_kl, bounds))
            if spec.critic_rate_follows:
                followed = self.critic_rate.value * self.rate.value / before
                self.critic_rate = self.critic_rate.adapted_to(min(max(followed, bounds.minimum), bounds.maximum))

    def in_value_units(self, experience: Experience, context: PPOContext) -> Experience:
        """Add the critic's targets to their moments, and rescale the critic's head. Return the experience with the new σ.

        Every process has the whole batch, so all take the same step. Without `ppo.critic.normalization` nothing changes.
        """
        normalization = context.spec.critic.normalization
        if not context.spec.normalizes_values or normalization is None:
            return experience
        targets = experience.returns_BR[experience.scored.batch.mask_BR].cpu().double().numpy()
        old = self.value_units
        self.value_units = old.with_batch(float(targets.mean()), float(targets.var()), normalization.rate)
        change_units(context.models.critic, old, self.value_units)
        return replace(experience, value_scale=self.value_units.deviation)

    def optimal_values_at(self, rows: Sequence[int]) -> list[float] | None:
        """V* of these training prompts, NaN where it is unknown; None if it is not the baseline."""
        if not self.optimal_values:
            return None
        found = [self.optimal_values[row] for row in rows]
        return [math.nan if value is None else value for value in found]

    def save(self, context: PPOContext, learners: Learners, waiting: Mapping[str, dict[str, Tensor]]) -> TrainerState:
        """Return the content of a checkpoint besides the policy. `waiting` are the tensors of responses sampled ahead."""
        models = context.models
        tensors, further = learners.state() | dict(waiting), dict[str, Model]()
        if learners.value_head is not None:
            tensors["value_head"] = _weights(learners.value_head)
        elif models.critic is not None:
            further["critic"] = models.critic
        if context.spec.reference.update != "fixed":  # a fixed reference is loaded from where the spec names it
            tensors["reference"] = _weights(models.reference)
        numbers = {"format": FORMAT, "state": self._to_json(), "history": self.history.to_json()}
        if self.refits:
            assert models.reward_model is not None  # it was refitted
            tensors["reward_model"] = _weights(models.reward_model)
            numbers["score_level"] = _score_level(models.reward_model)
        return TrainerState(tensors, further, numbers)

    def restore(self, checkpoint: Path, context: PPOContext, learners: Learners) -> None:
        """Take over what `save` stored, except a separate critic, which is loaded as a model.

        The adapted coefficients are those of the checkpoint; call `follow` next. Raises StorageError for a checkpoint of a
        later release.
        """
        learners.policy.restore(load_optimizer(checkpoint, "policy_optimizer"))
        if learners.critic is not None:
            learners.critic.restore(load_optimizer(checkpoint, "critic_optimizer"))
        if learners.value_head is not None:
            _load_weights(learners.value_head, load_optimizer(checkpoint, "value_head"))
        if context.spec.reference.update != "fixed":
            _load_weights(context.models.reference, load_optimizer(checkpoint, "reference"))
        numbers = in_present_format(load_numbers(checkpoint), checkpoint)
        self.history.restore(numbers["history"])
        self._restore_numbers(numbers["state"])
        if context.spec.normalizes_values:
            set_units(context.models.critic, self.value_units)
        reward_model = context.models.reward_model
        if self.refits and reward_model is not None:
            _load_weights(reward_model, load_optimizer(checkpoint, "reward_model"))
            vars(reward_model.config).update(numbers["score_level"])

    def _to_json(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "history"}
        parts = {
            name: asdict(values[name])
            for name in ("kl_coef", "old_kl_beta", "rate", "critic_rate", "scale", "value_units")
        }
        return values | parts | {"pairs": [asdict(pair) for pair in self.pairs]}

    def _restore_numbers(self, stored: dict[str, Any]) -> None:
        self.kl_coef = _coefficient(stored["kl_coef"])
        self.old_kl_beta = _coefficient(stored["old_kl_beta"])
        if "rate" in stored:  # an earlier release stored none
            self.rate = _coefficient(stored["rate"])
        if "critic_rate" in stored:
            self.critic_rate = _coefficient(stored["critic_rate"])
        else:  # an earlier release had one change for both
            change = self.rate.value / self.rate.origin.value
            self.critic_rate = self.critic_rate.adapted_to(self.critic_rate.value * change)
        self.cut_steps_left, self.refits = stored["cut_steps_left"], stored["refits"]
        self.scale = RunningScale(**stored["scale"])
        self.value_units = ValueUnits(**stored.get("value_units", {}))  # an earlier release stored none
        self.optimal_values = stored["optimal_values"]
        self.pairs = [TokenizedPair(**pair) for pair in stored["pairs"]]


@torch.no_grad()
def move_reference(reference: Model, policy: Model, spec: ReferenceSpec, iteration: int) -> None:
    """Move the reference after iteration `iteration` (0-based): a copy of the policy, a step of a moving average, or nothing.

    Raises ModelError if the two have different weights, or if the reference is too coarse for small moves.
    """
    if spec.update == "fixed" or (spec.update == "reanchored" and (iteration + 1) % spec.every):
        return
    ours, theirs = list(reference.parameters()), list(policy.parameters())
    if [p.shape for p in ours] != [p.shape for p in theirs]:
        raise ModelError(
            f"`ppo.reference.update` = {spec.update!r} needs a reference of the policy's own architecture."
        )
    for own, new in zip(ours, theirs, strict=True):
        if spec.update == "reanchored":
            own.copy_(new)
        elif own.dtype in (torch.float32, torch.float64):
            own.lerp_(new.to(own.dtype), 1 - spec.decay)
        else:  # bfloat16 would round away a move of half a percent
            raise ModelError('`ppo.reference.update` = "ema" needs a reference in float32.')


def _coefficient(stored: dict[str, Any]) -> AdaptedCoefficient:
    return AdaptedCoefficient(stored["value"], Origin(**stored["origin"]))


def _score_level(reward_model: Model) -> dict[str, Any]:
    """The settings of the configuration that a refit changes."""
    config = reward_model.config
    level = {"score_bias": float(config.score_bias), "score_scale": float(getattr(config, "score_scale", 1.0))}
    members = levels_of(config)
    return level | ({"reward_members": [list(one) for one in members]} if members else {})


def _weights(model: Model | nn.Module) -> dict[str, Tensor]:
    """Parameters by name; tied ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def _load_weights(model: Model | nn.Module, tensors: dict[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(slice_of(tensors[name], parameter))
