"""Live knobs: the settings of a stage that can be changed while it runs, and the actions that can be requested. Torch-free.

A knob is a number of the spec that is declared with the fact `LiveKnob`. Its range is the spec's own, and a change is
validated by the spec's own rules. The API, the worker and the trainer call the same functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError

from trainer.spec.facts import FieldPath, LiveKnob, facts_of
from trainer.spec.job import JobSpec
from trainer.spec.section import STAGES, Section, StageName
from trainer.spec.stages import OptimizerSpec

_DECLARED: dict[StageName, dict[FieldPath, LiveKnob]] = {
    stage: facts_of(type(JobSpec.model_fields[stage].default), LiveKnob) for stage in STAGES
}
_PATHS = {knob.name: path for knobs in _DECLARED.values() for path, knob in knobs.items()}
KNOBS = {knob.name: knob for knobs in _DECLARED.values() for knob in knobs.values()}
"""Every knob of any stage, by its name."""
if TYPE_CHECKING:
    Knob: TypeAlias = str
else:
    Knob = Literal[tuple(KNOBS)]
"""The name of a knob."""
Action = Literal["evaluate", "checkpoint"]
ACTIONS: tuple[Action, ...] = get_args(Action)
Stage = TypeVar("Stage", bound=OptimizerSpec)


@dataclass(frozen=True)
class Range:
    """The values that a knob may have. A bound is None if there is none."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False

    def __contains__(self, value: float) -> bool:
        low = self.minimum is None or value > self.minimum or (value == self.minimum and not self.exclusive_minimum)
        high = self.maximum is None or value < self.maximum or (value == self.maximum and not self.exclusive_maximum)
        return low and high

    def __str__(self) -> str:
        low = (
            f"{'above' if self.exclusive_minimum else 'at least'} {self.minimum:g}" if self.minimum is not None else ""
        )
        high = (
            f"{'below' if self.exclusive_maximum else 'at most'} {self.maximum:g}" if self.maximum is not None else ""
        )
        return " and ".join(filter(None, (low, high))) or "any number"


class KnobSetting(BaseModel):
    """A knob that was changed during the run, as a checkpoint stores it."""

    value: float
    replaced: float
    """The value of the spec. A run whose spec has another value ignores the setting: a later change of the spec counts."""
    step: int
    """Steps of the stage that were done when it was changed."""


@dataclass(frozen=True)
class Origin:
    """Where a present value comes from: the spec, or a live knob."""

    value: float
    """The value as it was set."""
    step: int | None = None
    """Steps of the stage that were done when a live knob set it; None: the value of the spec."""


def field_of(stage: StageName, knob: Knob) -> str:
    """The field of the spec, such as `ppo.kl.coef`."""
    return ".".join((stage, *_PATHS[knob]))


def section_of(spec: JobSpec, stage: StageName) -> OptimizerSpec | None:
    """The section of a stage that trains; None for the evaluation."""
    section = getattr(spec, stage)
    return section if isinstance(section, OptimizerSpec) else None


def value_of(section: OptimizerSpec, knob: Knob) -> float:
    """The value in a section that has the knob."""
    found: Any = section
    for name in _PATHS[knob]:
        found = getattr(found, name)
    return float(found)


def why_not(stage: StageName, section: OptimizerSpec | None, name: Knob | Action) -> str | None:
    """The reason why the stage has no such knob or action, as a sentence; None if it has it."""
    if section is None:
        return f"The stage {stage} trains nothing, so it has no `{name}`."
    if name not in KNOBS:
        return None
    having = [one for one, paths in _DECLARED.items() if _PATHS[name] in paths]
    if stage not in having:
        return f"The stage {stage} has no `{name}`: only {' and '.join(having)} has it."
    return KNOBS[name].missing(section)


def range_of(section: OptimizerSpec, knob: Knob) -> Range:
    """The range that the spec allows in this section."""
    *parents, name = _PATHS[knob]
    owner: Section = section
    for parent in parents:
        owner = getattr(owner, parent)
    bounds: dict[str, Any] = {}
    for limit in type(owner).model_fields[name].metadata:
        match limit:
            case Gt():
                bounds |= {"minimum": limit.gt, "exclusive_minimum": True}
            case Ge():
                bounds |= {"minimum": limit.ge}
            case Lt():
                bounds |= {"maximum": limit.lt, "exclusive_maximum": True}
            case Le():
                bounds |= {"maximum": limit.le}
    if KNOBS[knob].above_minimum(section):
        bounds["exclusive_minimum"] = True
    return Range(**bounds)


def requested_range(section: OptimizerSpec, knob: Knob) -> Range:
    """The range of a request: `LiveKnob.most` is its maximum where the spec has none, and never below the value of the spec.

    The trainer does not apply this maximum, so a resumed run repeats the changes that an older release accepted.
    """
    allowed, most = range_of(section, knob), KNOBS[knob].most
    if allowed.maximum is not None or most is None:
        return allowed
    return replace(allowed, maximum=max(most, value_of(section, knob)))


def changed(section: Stage, knob: Knob, value: float, within: Range | None = None) -> Stage:
    """The section with another value. Raises ValueError, with the allowed range or the rule that the value breaks.

    `within`: the allowed range, if it is not that of the spec.
    """
    allowed = within or range_of(section, knob)
    if value not in allowed:
        raise ValueError(f"`{knob}` must be {allowed}; it is {value:g}.")
    data = section.model_dump()
    owner: dict[str, Any] = data
    *parents, name = _PATHS[knob]
    for parent in parents:
        owner = owner[parent]
    owner[name] = value
    try:
        return type(section).model_validate(data)
    except ValidationError as error:
        raise ValueError(f"`{knob}` = {value:g}: {error.errors()[0]['msg']}.") from error


def still_set(section: OptimizerSpec, settings: Mapping[Knob, KnobSetting]) -> dict[Knob, KnobSetting]:
    """The settings that replace a value which the section still has."""
    return {knob: one for knob, one in settings.items() if value_of(section, knob) == one.replaced}


def tuned(section: Stage, settings: Mapping[Knob, KnobSetting]) -> Stage:
    """The section with these settings."""
    for knob, one in settings.items():
        section = changed(section, knob, one.value)
    return section


def origin_of(section: OptimizerSpec, knob: Knob, settings: Mapping[Knob, KnobSetting]) -> Origin:
    """The origin of a knob's value in a section that has these settings."""
    return Origin(value_of(section, knob), settings[knob].step if knob in settings else None)


def is_over(stage: StageName, now: StageName) -> bool:
    """Whether `stage` comes before the stage `now` in every run."""
    return STAGES.index(stage) < STAGES.index(now)
