"""Which models are in memory in each stage, and what their weights and optimizers come to. As trainer/stages/model_factory.py has it."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.preflight.memory.fake_models import Blueprint, Head
from trainer.preflight.memory.passes import Pass
from trainer.preflight.memory.processes import Learning, Processes
from trainer.preflight.report import Phase
from trainer.spec import JobSpec, OptimizerSpec


@dataclass(frozen=True)
class Member:
    """A model by its head, and how its weights are held."""

    head: Head
    learns: bool = False
    """It has gradients and an optimizer."""
    exact: bool = False
    """Without learning, but never away in host memory: the policy that was trained."""
    moves: bool = False
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
        case "dpo" | "kto":
            return [Member("policy", learns=True), Member("policy")]
        case "evaluation" if "ppo" not in spec.stages:
            against = [Member("policy", exact=True, start="against")] if spec.evaluation.against else []
            trained = {"sft", "dpo", "kto"} & set(spec.stages)
            initial = [Member("policy")] if trained or not against else []
            return [Member("policy", exact=True, adapted=True), *initial, *against, *_scorer(spec)]
        case _:
            return _ppo(spec)


def _ppo(spec: JobSpec) -> list[Member]:
    ppo = spec.ppo
    found = [Member("policy", learns=True), Member("policy")]
    if ppo.reference.update != "fixed":
        found.append(Member("policy", exact=True, moves=True, adapted=True, start=ppo.reference.path or "policy"))
    elif ppo.reference.path is not None:
        found.append(Member("policy", start=ppo.reference.path))
    if ppo.uses_critic and ppo.critic.kind == "separate":
        found.append(Member("scalar", learns=True, start=_critic_start(spec)))
    return found + _scorer(spec)


def _scorer(spec: JobSpec) -> list[Member]:
    if not spec.own_reward_model:
        return []
    moves = spec.ppo.online is not None
    return [Member("scalar", exact=moves, moves=moves, adapted=True, start=_scorer_start(spec))]


def _scorer_start(spec: JobSpec) -> str:
    """DPO and KTO come between the reward model and PPO, and leave another policy."""
    between = {"dpo", "kto"} & set(spec.stages)
    return spec.reward_model.path or ("policy of the reward model" if between else "policy")


def _critic_start(spec: JobSpec) -> str:
    return _scorer_start(spec) if spec.own_reward_model and spec.ppo.critic.initial != "policy" else "policy"


def passes_of(member: Member) -> tuple[Pass, bool]:
    """The output that `member` computes while a batch is scored, and whether its weights are held as those of a model that learns."""
    if member.head == "policy":
        return "logprobs", member.learns or member.moves
    return ("values" if member.learns else "scores"), member.learns or member.moves


@dataclass(frozen=True)
class Resident:
    """Bytes that stay for the whole phase."""

    weights: int
    optimizer: int
    host: int = 0
    """Bytes of an offloaded optimizer, in RAM."""

    @classmethod
    def of(cls, spec: JobSpec, phase: Phase, blueprint: Blueprint, other_weights: int = 0) -> "Resident":
        """`other_weights`: of reward models that the run only loads, which each process does."""
        found, rule, processes = members(spec, phase), _rule(spec, phase), Processes.of(spec)
        other_weights += _behind(spec, phase, blueprint)
        learning = [processes.learns(Learning.of(blueprint, member.head, rule)) for member in found if member.learns]
        optimizer, host = sum(one.optimizer for one in learning), sum(one.host for one in learning)
        if blueprint.spec.lora is not None:
            return cls(_on_backbones(found, blueprint) + other_weights, optimizer, host)
        away = spec.runtime.offload_frozen and blueprint.device == "cuda" and phase not in ("dpo", "kto")
        each = [
            (processes.held(_held(member, blueprint)), away and not (member.learns or member.exact)) for member in found
        ]
        stay = sum(size for size, goes in each if not goes)
        if not away:
            return cls(stay + other_weights, optimizer, host)
        visits = [0, other_weights, *(size for size, goes in each if goes)]
        return cls(stay + (max(visits) if phase in ("ppo_score", "evaluation") else 0), optimizer, host)


def _behind(spec: JobSpec, phase: Phase, blueprint: Blueprint) -> int:
    """Of the copy of the policy that samples the next responses meanwhile, which is held as a frozen model; of an adapter
    that is computed in a smaller type, the backbone too (trainer/rollout/producer.py)."""
    in_ppo = phase.startswith("ppo") or (phase == "evaluation" and "ppo" in spec.stages)
    if not (in_ppo and spec.ppo.rollout.asynchronous):
        return 0
    if blueprint.spec.lora is None:
        return blueprint.frozen_bytes("policy")
    return blueprint.dtype.itemsize * blueprint.trained_parameters("policy") + blueprint.frozen_bytes("policy")


def _rule(spec: JobSpec, phase: Phase) -> OptimizerSpec:
    """The optimizer settings of the stage to which the phase belongs."""
    return {"sft": spec.sft, "reward_model": spec.reward_model, "dpo": spec.dpo, "kto": spec.kto}.get(phase, spec.ppo)


def _held(member: Member, blueprint: Blueprint) -> int:
    if member.learns:
        return blueprint.trained_bytes(member.head)
    return 4 * blueprint.parameters(member.head) if member.moves else blueprint.frozen_bytes(member.head)


def _on_backbones(found: Sequence[Member], blueprint: Blueprint) -> int:
    assert blueprint.spec.lora is not None  # the caller's choice
    backbones = len({member.start for member in found}) if blueprint.spec.lora.share_backbone else len(found)
    adapters = sum(blueprint.trained_bytes(member.head) for member in found if member.learns or member.adapted)
    return backbones * blueprint.frozen_bytes("policy") + adapters
