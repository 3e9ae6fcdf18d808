"""Live knobs: the settings of a stage that can be changed while it runs, and the actions that can be requested. Torch-free.

A knob is a number of the spec. Its range is the spec's own, and a change is validated by the spec's own rules. The API, the
worker and the trainer call the same functions.

    knob                    field of the spec
    kl_coef                 ppo.kl.coef
    kl_target               ppo.kl.target
    learning_rate           learning_rate of the stage: the policy's, or the reward model's in its stage
    critic_learning_rate    ppo.critic.learning_rate
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError

from trainer.spec.job import JobSpec
from trainer.spec.ppo import PPOSpec
from trainer.spec.section import STAGES, Section, StageName
from trainer.spec.stages import OptimizerSpec

Knob = Literal["kl_coef", "kl_target", "learning_rate", "critic_learning_rate"]
KNOBS: tuple[Knob, ...] = get_args(Knob)
Action = Literal["evaluate", "checkpoint"]
ACTIONS: tuple[Action, ...] = get_args(Action)

_FIELDS: dict[Knob, tuple[str, ...]] = {
    "kl_coef": ("kl", "coef"),
    "kl_target": ("kl", "target"),
    "learning_rate": ("learning_rate",),
    "critic_learning_rate": ("critic", "learning_rate"),
}
_MOST: dict[Knob, float] = {"kl_coef": 100.0, "kl_target": 10_000.0}
"""The largest values that a request may set where the spec has no maximum. A slip of the keyboard ends a run beyond them."""
_OF_PPO: tuple[Knob, ...] = ("kl_coef", "kl_target", "critic_learning_rate")
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
    return ".".join((stage, *_FIELDS[knob]))


def section_of(spec: JobSpec, stage: StageName) -> OptimizerSpec | None:
    """The section of a stage that trains; None for the evaluation."""
    section = getattr(spec, stage)
    return section if isinstance(section, OptimizerSpec) else None


def value_of(section: OptimizerSpec, knob: Knob) -> float:
    """The value in a section that has the knob."""
    found: Any = section
    for name in _FIELDS[knob]:
        found = getattr(found, name)
    return float(found)


def why_not(stage: StageName, section: OptimizerSpec | None, name: Knob | Action) -> str | None:
    """The reason why the stage has no such knob or action, as a sentence; None if it has it."""
    if section is None:
        return f"The stage {stage} trains nothing, so it has no `{name}`."
    if name in _OF_PPO and not isinstance(section, PPOSpec):
        return f"The stage {stage} has no `{name}`: only ppo has it."
    if not isinstance(section, PPOSpec):
        return None
    kl = section.kl
    match name:
        case "kl_target" if kl.controller != "adaptive":
            return f'`ppo.kl.controller` = "{kl.controller}" has no target: only "adaptive" has one.'
        case "kl_coef" if kl.controller in ("linear", "cosine"):
            return f'`ppo.kl.controller` = "{kl.controller}" computes the coefficient from the step.'
        case "kl_coef" if section.policy_loss.traits.holds_reference:
            kind = section.policy_loss.kind
            return f'`ppo.policy_loss.kind` = "{kind}" has no KL coefficient: it is held by `ppo.policy_loss.beta`.'
        case "critic_learning_rate" if not section.uses_critic:
            return f'`ppo.advantage.estimator` = "{section.advantage.estimator}" has no critic.'
        case "critic_learning_rate" if section.has_value_head:
            return '`ppo.critic.kind` = "value_head" learns with the policy: change `learning_rate`.'
    return None


def range_of(section: OptimizerSpec, knob: Knob) -> Range:
    """The range that the spec allows in this section."""
    *parents, name = _FIELDS[knob]
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
    if knob == "kl_coef" and isinstance(section, PPOSpec) and section.kl.controller == "adaptive":
        bounds["exclusive_minimum"] = True  # the controller only multiplies it
    return Range(**bounds)


def requested_range(section: OptimizerSpec, knob: Knob) -> Range:
    """The range of a request. It has a maximum for every knob, which is never below the value of the spec.

    The trainer does not apply this maximum, so a resumed run repeats the changes that an older release accepted.
    """
    allowed = range_of(section, knob)
    if allowed.maximum is not None or knob not in _MOST:
        return allowed
    return replace(allowed, maximum=max(_MOST[knob], value_of(section, knob)))


def changed(section: Stage, knob: Knob, value: float, within: Range | None = None) -> Stage:
    """The section with another value. Raises ValueError, with the allowed range or the rule that the value breaks.

    `within`: the allowed range, if it is not that of the spec.
    """
    allowed = within or range_of(section, knob)
    if value not in allowed:
        raise ValueError(f"`{knob}` must be {allowed}; it is {value:g}.")
    data = section.model_dump()
    owner: dict[str, Any] = data
    *parents, name = _FIELDS[knob]
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
