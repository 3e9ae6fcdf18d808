"""Events of health rules, and of commands from outside of the run."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from trainer.events.lifecycle import RunEvent
from trainer.spec import StageName
from trainer.spec.knobs import Action, Knob


class Evidence(BaseModel):
    """One number that a health rule looked at."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metric: str
    """Name of the metric."""
    step: int
    """Step of the value."""
    value: float
    """The value."""


class SuggestedChange(BaseModel):
    """A change of the spec that may help. Several of a finding are alternatives."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    field: str
    """Path of the field, such as `ppo.kl.coef`."""
    value: JsonValue
    """The new value."""
    factor: float | None = None
    """`value` is this multiple of the value in the spec. A live knob may have another value; null for a fixed value."""


class Health(RunEvent):
    """A health rule has fired. A step that is repeated after a resume reports the same finding again."""

    type: Literal["health"] = "health"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step of the stage."""
    rule: str
    """Its name in the spec's `health`."""
    title: str = ""
    """Its title for people; empty in events of older versions."""
    action: Literal["warn", "pause", "stop", "roll_back"]
    """The action of the run."""
    limit: float
    """The rule's limit."""
    cause: str
    """The problem, in a sentence."""
    evidence: list[Evidence]
    """The values that the last steps are compared with, then the last steps beyond the limit."""
    suggestion: str
    """The setting to change."""
    changes: list[SuggestedChange] = []  # noqa: RUF012  # pydantic copies it
    """The suggestion for programs; empty if there is no change with a known value."""


class RolledBack(RunEvent):
    """The run went back to an earlier checkpoint's weights. Steps go on counting from `step`."""

    type: Literal["rolled_back"] = "rolled_back"
    stage: StageName
    """The stage of the run."""
    step: int
    """The step that was done last; steps go on counting from here."""
    to_step: int
    """The step whose weights it goes on from."""
    learning_rate_factor: float
    """Factor of both learning rates from here on."""


class CommandRequested(RunEvent):
    """A command for the stage was requested. The platform appends this event; the trainer reports the outcome."""

    type: Literal["command_requested"] = "command_requested"
    stage: StageName
    """The stage that it is meant for."""
    name: Knob | Action
    """The knob or the action."""
    value: float | None = None
    """The new value; null for an action."""
    command: str
    """Id of the command."""
    actor: dict[str, str | None]
    """Who requested it: `kind`, `id` and `name`, as in `status_changed`."""


class KnobChanged(RunEvent):
    """A setting of the stage was changed between two steps. A step that is repeated after a resume reports it again."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    type: Literal["knob_changed"] = "knob_changed"
    stage: StageName
    """The stage of the run."""
    step: int
    """Steps of the stage that were done; the next step is the first with the new value."""
    name: Knob
    """The knob."""
    from_: float = Field(alias="from")
    """The value before. For an adaptive KL coefficient, the one that the controller had reached."""
    to: float
    """The new value."""
    command: str
    """Id of the command that requested it."""


class CommandDone(RunEvent):
    """An action was requested and taken up between two steps. An evaluation is part of the next step."""

    type: Literal["command_done"] = "command_done"
    stage: StageName
    """The stage of the run."""
    step: int
    """Steps of the stage that were done."""
    name: Action
    """The action."""
    command: str
    """Id of the command that requested it."""


class CommandRefused(RunEvent):
    """A command was not carried out."""

    type: Literal["command_refused"] = "command_refused"
    stage: StageName
    """The stage that ran."""
    step: int
    """Steps of the stage that were done."""
    name: Knob | Action
    """The knob or the action."""
    command: str
    """Id of the command."""
    reason: str
    """Why, as a sentence."""
