"""A checkpoint under a changed spec: which changes keep its state usable, and which parts of the state carry over.

The table allows fields by name. A field that it does not name may not change in the middle of its stage, because the state
that is stored there was made with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainer.spec.job import JobSpec
from trainer.spec.section import STAGES, StageName

Path = tuple[str, ...]
_OPTIMIZER = (
    "learning_rate",
    "lr_schedule",
    "warmup_ratio",
    "weight_decay",
    "max_grad_norm",
    "micro_batch_size",
    "micro_batch_tokens",
    "save_every",
)
_ROWS = (*_OPTIMIZER, "epochs", "eval_rows")
_ANYTIME = ("name", "health", "evaluation", "checkpoints", "runtime", "resources", "rewards")
_MODEL = ("dtype", "tf32", "gradient_checkpointing")
_MID_PPO = (
    *_OPTIMIZER,
    "steps",
    "adam_eps",
    "batch_size",
    "samples_per_prompt",
    "epochs",
    "minibatches",
    "max_new_tokens",
    "stop",
    "temperature",
    "rollout",
    "advantage.gamma",
    "advantage.gae_lambda",
    "advantage.length_adaptive",
    "advantage.bootstrap_truncated",
    "advantage.normalize",
    "policy_loss",
    "critic.learning_rate",
    "critic.coef",
    "critic.value_clip_range",
    "kl",
    "reference.path",
    "reference.every",
    "reference.decay",
    "shaping",
    "guards",
    "ptx",
    "eval_every",
    "log_samples",
    "log_token_tables",
    "log_held_out",
)
_MID_STAGE: dict[str, tuple[str, ...]] = {
    "sft": _ROWS,
    "reward_model": _ROWS,
    "dpo": (*_ROWS, "beta"),
    "kto": (*_ROWS, "beta"),
    "ppo": _MID_PPO,
}
_MID_PPO_DATA = ("prompts", "evaluation_prompts", "pretraining")
_WAITING_RESPONSES = ("batch_size", "samples_per_prompt", "max_new_tokens", "stop", "temperature")
"""Fields of `ppo` that the responses sampled ahead depend on."""


@dataclass(frozen=True)
class BranchPoint:
    """A checkpoint: of the middle of a stage, or (`final`) the result of one."""

    stage: StageName
    step: int
    final: bool

    @property
    def done(self) -> tuple[StageName, ...]:
        """The stages that are over there."""
        return STAGES[: STAGES.index(self.stage) + self.final]


@dataclass(frozen=True)
class UnusableChange:
    """A change that the stored state does not allow."""

    pointer: str
    detail: str


@dataclass(frozen=True)
class CarriedPart:
    """A part of the state, and whether the new run continues it."""

    part: str
    carried: bool
    detail: str


def changed_fields(old: JobSpec, new: JobSpec) -> list[Path]:
    """The paths of the fields with another value; a list counts as one value."""
    return list(_differences((), old.model_dump(mode="json"), new.model_dump(mode="json")))


def unusable_changes(old: JobSpec, new: JobSpec, point: BranchPoint) -> list[UnusableChange]:
    """The changes that make the state at `point` unusable, or that could not have an effect any more."""
    found = [
        UnusableChange("#/" + "/".join(path), detail)
        for path in changed_fields(old, new)
        if (detail := _why_not(path, old, new, point))
    ]
    if point.stage == "ppo" and not point.final and new.ppo.steps <= point.step:
        found.append(UnusableChange("#/ppo/steps", f"must be more than {point.step}, the step of the checkpoint"))
    if not [stage for stage in new.stages if stage not in point.done]:
        found.append(
            UnusableChange("#/stages", f"no stage is left after the result of {point.stage}; name a later one")
        )
    return found


def _why_not(path: Path, old: JobSpec, new: JobSpec, point: BranchPoint) -> str | None:
    section, field = path[0], ".".join(path[1:])
    if section in STAGES and section in point.done and section in old.stages and section != "evaluation":
        return (
            f"the stage {section} is over at this checkpoint, so the change has no effect; branch from an earlier one"
        )
    if section == "rewards" and _has_optimal_values(old, point):
        return "the checkpoint holds V* of every prompt, worked out with the other rewards"
    if section in _ANYTIME:
        return None
    if section == "model":
        return None if field in _MODEL else "the stored weights belong to the other model"
    if section == "stages":
        return _why_not_stages(old, new, point)
    if point.final:
        return "a branch has one seed" if section == "seeds" else None
    if section == "seed" and point.stage == "ppo":
        return None
    if section == "data":
        return _why_not_data(field, old, point)
    if section not in STAGES or section != point.stage:
        return None if section in STAGES else f"it cannot change in the middle of the stage {point.stage}"
    return _why_not_in_stage(field, old, point)


def _why_not_stages(old: JobSpec, new: JobSpec, point: BranchPoint) -> str | None:
    until = STAGES[: STAGES.index(point.stage) + 1]
    if [stage for stage in new.stages if stage in until] != [stage for stage in old.stages if stage in until]:
        return f"the stages up to {point.stage} are those that led to the checkpoint; only later ones may change"
    return None


def _why_not_data(field: str, old: JobSpec, point: BranchPoint) -> str | None:
    if point.stage != "ppo" or field not in _MID_PPO_DATA:
        return f"the data of the stage {point.stage} cannot change in its middle; branch from the end of a stage"
    if field == "prompts" and _has_optimal_values(old, point):
        return "the checkpoint holds V* of every other prompt"
    if field == "prompts" and old.ppo.rollout.asynchronous:
        return "the checkpoint holds responses to the other prompts, sampled ahead"
    return None


def _why_not_in_stage(field: str, old: JobSpec, point: BranchPoint) -> str | None:
    if not any(field == allowed or field.startswith(f"{allowed}.") for allowed in _MID_STAGE[point.stage]):
        return f"the state stored in the middle of {point.stage} was made with it; branch from the end of a stage"
    if old.ppo.rollout.asynchronous and field in _WAITING_RESPONSES:
        return "the checkpoint holds responses that were sampled ahead with the other value"
    if field == "reference.path" and old.ppo.reference.update != "fixed":
        return "the reference moves, so the stored one is used"
    return None


def _has_optimal_values(old: JobSpec, point: BranchPoint) -> bool:
    return point.stage == "ppo" and not point.final and old.ppo.advantage.baseline == "optimal_value"


def carried_parts(old: JobSpec, new: JobSpec, point: BranchPoint) -> list[CarriedPart]:
    """The parts of the state at `point`, for changes that are all usable."""
    earlier = [stage for stage in new.stages if stage in point.done and stage != "evaluation"]
    parts = [CarriedPart("results", True, f"The results of {', '.join(earlier)}.")] if earlier else []
    if point.final:
        return [*parts, CarriedPart("optimizer", False, "The next stage starts its own.")]
    changed = {".".join(path) for path in changed_fields(old, new)}
    parts += [
        CarriedPart("weights", True, f"Those after step {point.step} of {point.stage}."),
        CarriedPart("optimizer", True, "Its moments. The learning rates follow the new spec from the next step on."),
    ]
    return [*parts, *_ppo_parts(old, new, changed)] if point.stage == "ppo" else parts


def _ppo_parts(old: JobSpec, new: JobSpec, changed: set[str]) -> Iterator[CarriedPart]:
    if new.ppo.uses_critic:
        yield CarriedPart("critic", True, "Its weights, and the moments of its optimizer.")
    if new.ppo.kl.controller != "adaptive":
        yield CarriedPart(
            "kl_controller", False, f"The coefficient follows `ppo.kl` of the spec ({new.ppo.kl.coef:g})."
        )
    elif "ppo.kl.coef" in changed:
        yield CarriedPart("kl_controller", False, f"It starts again at `ppo.kl.coef`, {new.ppo.kl.coef:g}.")
    else:
        yield CarriedPart("kl_controller", old.ppo.kl.controller == "adaptive", "The coefficient of the stored step.")
    if "ppo.reference.path" in changed:
        yield CarriedPart("reference", False, "It is loaded from the new `ppo.reference.path`.")
    else:
        yield CarriedPart("reference", True, "The same policy as before.")
    draws = sorted(changed & {"seed", "data.prompts", "ppo.batch_size", "ppo.samples_per_prompt"})
    detail = f"Other prompts or draws, because {', '.join(draws)} changed." if draws else "The same prompts and draws."
    yield CarriedPart("sampler", not draws, detail)


def _differences(path: Path, old: Any, new: Any) -> Iterator[Path]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _differences((*path, name), old.get(name), new.get(name))
    elif old != new:
        yield path
