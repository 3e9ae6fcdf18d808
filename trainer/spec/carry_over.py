"""A checkpoint under a changed spec: which changes keep its state usable, and which parts of the state carry over.

The fact `Change` of a field decides. It is declared with the field.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainer.spec.facts import BETWEEN_STAGES, Change, FieldPath, facts_of
from trainer.spec.job import JobSpec
from trainer.spec.section import STAGES, StageName

_CHANGES = facts_of(JobSpec, Change)
_DRAWS = ("seed", "data.prompts", "ppo.batch_size", "ppo.samples_per_prompt")
"""The fields by which PPO's prompts and draws change, in addition to those of `_CHOICES`."""
_CHOICES = ("ppo.rollout.refill", "ppo.curriculum")
"""Optional sections by which they change."""


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


def changed_fields(old: JobSpec, new: JobSpec) -> list[FieldPath]:
    """The paths of the fields with another value; a list counts as one value."""
    return list(_differences((), old.model_dump(mode="json"), new.model_dump(mode="json")))


def unusable_changes(old: JobSpec, new: JobSpec, point: BranchPoint) -> list[UnusableChange]:
    """The changes that make the state at `point` unusable, or that could not have an effect any more."""
    found = [
        UnusableChange("#/" + "/".join(path), detail)
        for path in changed_fields(old, new)
        if (detail := _why_not(path, old, new, point))
    ]
    if point.stage == "ppo" and not point.final and new.ppo.most_steps <= point.step:
        found.append(UnusableChange("#/ppo/steps", f"must be more than {point.step}, the step of the checkpoint"))
    if not [stage for stage in new.stages if stage not in point.done]:
        found.append(
            UnusableChange("#/stages", f"no stage is left after the result of {point.stage}; name a later one")
        )
    return found


def _why_not(path: FieldPath, old: JobSpec, new: JobSpec, point: BranchPoint) -> str | None:
    section = path[0]
    if section in STAGES and section in point.done and section in old.stages and section != "evaluation":
        return (
            f"the stage {section} is over at this checkpoint, so the change has no effect; branch from an earlier one"
        )
    if section == "stages":
        return _why_not_stages(old, new, point)
    change = change_of(path)
    if change.when == "never":
        return change.because
    if point.final or (section in STAGES and section != point.stage):
        return None
    if change.when not in ("anytime", "mid_stage", "mid_ppo") or (change.when == "mid_ppo" and point.stage != "ppo"):
        return f"it cannot change in the middle of the stage {point.stage}; branch from the end of a stage"
    return _why_not_in_ppo(path, change, old) if point.stage == "ppo" else None


def change_of(path: FieldPath) -> Change:
    """When the field may change: as it is declared, or else at the section or value that holds it."""
    return next((_CHANGES[path[:end]] for end in range(len(path), 0, -1) if path[:end] in _CHANGES), BETWEEN_STAGES)


def _why_not_in_ppo(path: FieldPath, change: Change, old: JobSpec) -> str | None:
    """The reason why a field that may change in the middle of PPO may not in this run."""
    if change.in_optimal_values and old.ppo.advantage.baseline == "optimal_value":
        return "the checkpoint holds V* of every prompt, worked out with the other value"
    if change.in_waiting and old.ppo.rollout.asynchronous:
        return "the checkpoint holds responses that were sampled ahead with the other value"
    if path == ("ppo", "reference", "path") and old.ppo.reference.update != "fixed":
        return "the reference moves, so the stored one is used"
    return None


def _why_not_stages(old: JobSpec, new: JobSpec, point: BranchPoint) -> str | None:
    until = STAGES[: STAGES.index(point.stage) + 1]
    if [stage for stage in new.stages if stage in until] != [stage for stage in old.stages if stage in until]:
        return f"the stages up to {point.stage} are those that led to the checkpoint; only later ones may change"
    return None


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
    draws = sorted(
        field
        for field in changed
        if field in _DRAWS or any(f"{field}.".startswith(f"{section}.") for section in _CHOICES)
    )
    detail = f"Other prompts or draws, because {', '.join(draws)} changed." if draws else "The same prompts and draws."
    yield CarriedPart("sampler", not draws, detail)


def _differences(path: FieldPath, old: Any, new: Any) -> Iterator[FieldPath]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            yield from _differences((*path, name), old.get(name), new.get(name))
    elif old != new:
        yield path
