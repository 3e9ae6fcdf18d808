"""Numbers that move from one iteration to the next. Every checkpoint has them: they are all that weights do not say."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from trainer.distributed.sharding import slice_of
from trainer.errors import ModelError
from trainer.events import CurvePoint, finite
from trainer.health import Monitor
from trainer.models import Model
from trainer.ppo.kl import adapted_coef, adapted_old_kl_beta, scheduled_coef
from trainer.ppo.learners import Learners
from trainer.rollout.context import PPOModels
from trainer.rollout.shaping import RunningScale
from trainer.session.checkpoint import TrainerState, load_numbers, load_optimizer
from trainer.spec import PPOSpec, ReferenceSpec
from trainer.stages.tokenized_rows import TokenizedPair


@dataclass
class Dials:
    """Plain numbers and lists of them, so that JSON carries them from one process to the next without a lost bit."""

    kl_coef: float
    """β of the KL to the reference, where the adaptive controller moves it."""
    old_kl_beta: float
    """β of the KL to the old policy."""
    cut_steps_left: int = 0
    """Optimizer steps still to take at a cut learning rate."""
    scale: RunningScale = field(default_factory=RunningScale)
    """Spread of all scores so far."""
    optimal_values: list[float] = field(default_factory=list)
    """V* of each training prompt, where they are the baseline."""
    refits: int = 0
    """How often the reward model has been refitted."""
    pairs: list[TokenizedPair] = field(default_factory=list)
    """What it was refitted on: the policy's own answers, labelled."""

    @classmethod
    def of(cls, spec: PPOSpec) -> "Dials":
        return cls(spec.kl.coef, spec.policy_loss.beta)

    @classmethod
    def restored(cls, numbers: dict[str, Any]) -> "Dials":
        scale, pairs = RunningScale(**numbers["scale"]), [TokenizedPair(**pair) for pair in numbers["pairs"]]
        return cls(**{**numbers, "scale": scale, "pairs": pairs})

    def numbers(self) -> dict[str, Any]:
        return asdict(self)

    def kl_coef_at(self, iteration: int, spec: PPOSpec) -> float:
        """β of the KL to the reference in this iteration."""
        return self.kl_coef if spec.kl.controller == "adaptive" else scheduled_coef(spec.kl, iteration, spec.steps)

    def turn(self, spec: PPOSpec, iteration: int, kl: float, old_kl: float | None) -> None:
        """After an iteration: by its KL to the reference (nats per response), and to the old policy (nats per token).

        A KL that is not finite turns nothing: the coefficient would never be a number again. Nor does one of the critic's
        warm-up: a policy that has to stand still says nothing of β.
        """
        if spec.only_critic_learns(iteration):
            return
        if spec.kl.controller == "adaptive" and math.isfinite(kl):
            self.kl_coef = adapted_coef(self.kl_coef, kl, spec.batch_size, spec.kl)
        if old_kl is not None:
            self.old_kl_beta = adapted_old_kl_beta(self.old_kl_beta, old_kl, spec.policy_loss)


# How a PPO run has gone so far: all that its health rules, its best checkpoint and its curve need to go on after a resume.
_BEST_FIGURES = ("win_rate", "win_rate_low", "win_rate_high", "score", "judge", "kl", "response_length")


@dataclass
class RunHistory:
    """Every checkpoint has it, as JSON. A roll-back leaves it: what has been seen has been seen."""

    monitor: Monitor
    rate_factor: float = 1.0
    """Of the learning rates: halved by each roll-back."""
    roll_backs: int = 0
    skipped: int = 0
    """Optimizer steps left out because a number was not finite."""
    entropy: float | None = None
    """Of the last iteration that had one."""
    best_step: int | None = None
    best: dict[str, float] = field(default_factory=dict)
    """The evaluation with the best win rate, by figure; empty before the first. Never of a step that was rolled back, or
    of which a part was left out."""
    curve: list[CurvePoint] = field(default_factory=list)

    def note(self, step: int, values: dict[str, float], may_be_best: bool = True) -> bool:
        """Add a step's metrics; answer whether it is the best evaluation so far. The first of equals stays the best.

        Where something went wrong at the step it may not be: it is drawn, but nothing is to go back to it.
        """
        self.entropy = values.get("policy/entropy_avg", self.entropy)
        seen = finite(values).items()
        figures = {name.removeprefix("eval/"): value for name, value in seen if name.startswith("eval/")}
        if "win_rate" not in figures:
            return False
        shown = ("sqrt_kl", "score", "judge", "win_rate")
        self.curve.append(CurvePoint(step=step, **{name: figures[name] for name in shown if name in figures}))
        if not may_be_best or (self.best and figures["win_rate"] <= self.best["win_rate"]):
            return False
        self.best_step, self.best = step, {name: figures[name] for name in _BEST_FIGURES if name in figures}
        return True

    def summary(self, best_is_kept: bool) -> dict[str, float]:
        """What of it belongs to the stage's result.

        The win rate by which the best checkpoint was chosen is a maximum over evaluations, hence too high: the evaluation
        stage measures that checkpoint again (`best_win_rate`).
        """
        summary = {}
        if best_is_kept and self.best_step is not None:
            summary = {"best_step": float(self.best_step), "selection_win_rate": self.best["win_rate"]}
        first = self.monitor.first("policy/entropy_avg")
        if first and self.entropy is not None:
            summary["entropy_kept"] = self.entropy / first
        return summary

    def numbers(self) -> dict[str, Any]:
        """All of it as JSON."""
        numbers = {name: value for name, value in vars(self).items() if name not in ("monitor", "curve")}
        return numbers | {"monitor": self.monitor.state(), "curve": [point.model_dump() for point in self.curve]}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Put back what `numbers` returned."""
        self.monitor.restore(numbers["monitor"])
        self.curve = [CurvePoint(**point) for point in numbers["curve"]]
        for name, value in numbers.items():
            if name not in ("monitor", "curve"):
                setattr(self, name, value)


# What a PPO checkpoint holds beside the policy: enough for a resume to go on with the same bits.
def trainer_state(
    actors: PPOModels,
    learners: Learners,
    dials: Dials,
    course: RunHistory,
    pending: Mapping[str, dict[str, Tensor]] = MappingProxyType({}),
) -> TrainerState:
    """Optimizers, the critic or its head, a reference that moved, the dials, the course of the run, and the responses that
    wait to be learnt from."""
    tensors, models = learners.state() | dict(pending), {}
    if learners.value_head is not None:
        tensors["value_head"] = weights(learners.value_head)
    elif actors.critic is not None:
        models["critic"] = actors.critic
    if _reference_moves(learners):
        tensors["reference"] = weights(actors.reference)
    numbers: dict[str, Any] = {"dials": dials.numbers(), "course": course.numbers()}
    if dials.refits:
        tensors["reward_model"] = weights(actors.reward_model)
        numbers["score_level"] = _level(actors.reward_model)
    return TrainerState(tensors, models, numbers)


def restore(checkpoint: Path, actors: PPOModels, learners: Learners, course: RunHistory) -> Dials:
    """Put everything back in place but the policy and a separate critic, which come loaded; return the dials."""
    learners.policy.restore(load_optimizer(checkpoint, "policy_optimizer"))
    if learners.critic is not None:
        learners.critic.restore(load_optimizer(checkpoint, "critic_optimizer"))
    if learners.value_head is not None:
        put_weights(learners.value_head, load_optimizer(checkpoint, "value_head"))
    if _reference_moves(learners):
        put_weights(actors.reference, load_optimizer(checkpoint, "reference"))
    numbers = load_numbers(checkpoint)
    dials = Dials.restored(numbers["dials"])
    course.restore(numbers["course"])
    if dials.refits and actors.reward_model is not None:
        put_weights(actors.reward_model, load_optimizer(checkpoint, "reward_model"))
        vars(actors.reward_model.config).update(numbers["score_level"])
    return dials


def _reference_moves(learners: Learners) -> bool:
    """One that is fixed comes from where it came from before."""
    spec = learners.policy.spec
    return isinstance(spec, PPOSpec) and spec.reference.update != "fixed"


def _level(reward_model: Model) -> dict[str, float]:
    config = reward_model.config
    return {"score_bias": float(config.score_bias), "score_scale": float(getattr(config, "score_scale", 1.0))}


def weights(model: Model | nn.Module) -> dict[str, Tensor]:
    """Parameters by name; tied ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def put_weights(model: Model | nn.Module, tensors: dict[str, Any]) -> None:
    """Put back what `weights` returned."""
    for name, parameter in model.named_parameters():
        parameter.copy_(slice_of(tensors[name], parameter))


# The policy that the KL is taken to, where it moves.
@torch.no_grad()
def move(reference: Model, policy: Model, spec: ReferenceSpec, iteration: int) -> None:
    """After iteration `iteration` (0-based): leave it, copy the policy's weights, or go a little towards them.

    Raises ModelError where the two do not have the same weights, or the reference is too coarse for small moves.
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
        else:  # a move of half a percent would be rounded away
            raise ModelError('`ppo.reference.update` = "ema" needs a reference in float32.')
