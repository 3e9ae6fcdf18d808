"""What a PPO checkpoint holds beside the policy: enough for a resume to go on with the same bits."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from trainer.distributed.steps import slice_of
from trainer.models import Model
from trainer.ppo.course import Course
from trainer.ppo.dials import Dials
from trainer.ppo.learners import Learners
from trainer.rollout.ppo_models import Actors
from trainer.session.checkpoint import TrainerState, load_numbers, load_optimizer
from trainer.spec import PPOSpec


def trainer_state(
    actors: Actors,
    learners: Learners,
    dials: Dials,
    course: Course,
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


def restore(checkpoint: Path, actors: Actors, learners: Learners, course: Course) -> Dials:
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
