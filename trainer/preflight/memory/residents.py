"""Which models are in memory in each stage, and what their weights and optimizers come to. As trainer/assembly.py has it."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.preflight.memory.blueprint import Blueprint, Head
from trainer.preflight.report import Phase
from trainer.spec import JobSpec


@dataclass(frozen=True)
class Member:
    """A model by its head, and how its weights are held."""

    head: Head
    learns: bool = False
    """It has gradients and an optimizer."""
    exact: bool = False
    """In float32 without learning: a reference that moves, a reward model that is refitted."""
    adapted: bool = False
    """On a backbone it has an adapter without learning: it was trained before."""
    start: str = "policy"
    """Where its weights come from; models with the same start can share a backbone."""


def members(spec: JobSpec, phase: Phase) -> list[Member]:
    """Who is in memory in `phase`. The evaluation in the loop finds all of PPO there."""
    match phase:
        case "sft":
            return [Member("policy", learns=True)]
        case "reward_model":
            return [Member("scalar", learns=True)]
        case "dpo":
            return [Member("policy", learns=True), Member("policy")]
        case "evaluation" if "ppo" not in spec.stages:
            against = [Member("policy", exact=True, start="against")] if spec.evaluation.against else []
            trained = {"sft", "dpo"} & set(spec.stages)
            initial = [Member("policy")] if trained or not against else []
            return [Member("policy", exact=True, adapted=True), *initial, *against, *_scorer(spec)]
        case _:
            return _ppo(spec)


def _ppo(spec: JobSpec) -> list[Member]:
    ppo = spec.ppo
    found = [Member("policy", learns=True), Member("policy")]
    if ppo.reference.update != "fixed":
        found.append(Member("policy", exact=True, adapted=True, start=ppo.reference.path or "policy"))
    elif ppo.reference.path is not None:
        found.append(Member("policy", start=ppo.reference.path))
    if ppo.uses_critic and ppo.critic.kind == "separate":
        found.append(Member("scalar", learns=True, start=_critic_start(spec)))
    return found + _scorer(spec)


def _scorer(spec: JobSpec) -> list[Member]:
    if not spec.own_reward_model:
        return []
    return [Member("scalar", exact=spec.ppo.online is not None, adapted=True, start=_scorer_start(spec))]


def _scorer_start(spec: JobSpec) -> str:
    """DPO comes between the reward model and PPO, and leaves another policy."""
    return spec.reward_model.path or ("policy before dpo" if "dpo" in spec.stages else "policy")


def _critic_start(spec: JobSpec) -> str:
    return _scorer_start(spec) if spec.own_reward_model and spec.ppo.critic.initial != "policy" else "policy"


@dataclass(frozen=True)
class Resident:
    """Bytes that stay for the whole phase."""

    weights: int
    optimizer: int

    @classmethod
    def of(cls, found: Sequence[Member], blueprint: Blueprint, other_weights: int = 0) -> "Resident":
        """`other_weights`: of reward models that the run only loads."""
        optimizer = sum(2 * blueprint.trained_bytes(member.head) for member in found if member.learns)
        weights = _weights(found, blueprint) if blueprint.spec.lora is None else _on_backbones(found, blueprint)
        return cls(weights + other_weights, optimizer)


def _weights(found: Sequence[Member], blueprint: Blueprint) -> int:
    return sum(
        blueprint.trained_bytes(member.head) if member.learns or member.exact else blueprint.frozen_bytes(member.head)
        for member in found
    )


def _on_backbones(found: Sequence[Member], blueprint: Blueprint) -> int:
    assert blueprint.spec.lora is not None  # the caller's choice
    backbones = len({member.start for member in found}) if blueprint.spec.lora.share_backbone else len(found)
    adapters = sum(blueprint.trained_bytes(member.head) for member in found if member.learns or member.adapted)
    return backbones * blueprint.frozen_bytes("policy") + adapters
