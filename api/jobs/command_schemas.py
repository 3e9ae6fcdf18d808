"""Schemas of live knobs and of the commands to a running job."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, create_model

from api.schema import ListOf, Schema, Timestamp
from core.models.commands import CommandStatus
from trainer.spec import StageName
from trainer.spec.knobs import KNOBS, Action, Knob

Value = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Request = TypeVar("Request", bound=Schema)


def _with_knobs(schema: type[Request]) -> type[Request]:
    """The schema with an optional field for each knob."""
    knobs: dict[str, Any] = {
        name: (
            Value | None,
            Field(
                default=None,
                description=f"New {knob.new}. Left out: unchanged.",
                json_schema_extra={"x-label": knob.label, "x-unit": knob.unit},
            ),
        )
        for name, knob in KNOBS.items()
    }
    return create_model(schema.__name__, __base__=schema, __doc__=schema.__doc__, __module__=schema.__module__, **knobs)


@_with_knobs
class CommandRequest(Schema):
    """Commands to the stage that runs: new values of knobs, and actions. All of them are stored, or none."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    evaluate: bool = False
    """Evaluate the policy after the next step. It does not change the result of the run."""
    checkpoint: bool = False
    """Save a checkpoint between two steps. It does not change the result of the run."""


class CommandActor(Schema):
    """Who requested a command."""

    kind: str
    """`api_key`."""
    id: str | None
    """Id of the key."""
    name: str | None
    """Name of the key when it acted."""


class JobCommand(Schema):
    """One command to a job."""

    object: Literal["job.command"] = "job.command"
    """Always `job.command`."""
    id: str
    """Begins with `cmd_`."""
    job_id: str
    """The job."""
    stage: StageName
    """The stage that it is meant for."""
    name: Knob | Action
    """The knob or the action."""
    value: float | None
    """The new value; null for an action."""
    value_before: float | None
    """The value that it replaced; null until it is applied."""
    status: CommandStatus
    """`pending`: the trainer takes it up between two steps. A job that has ended takes up no more commands."""
    step: int | None
    """Steps of the stage that were done when the trainer took it up; the next one is the first with the new value."""
    reason: str | None
    """Why the trainer refused it; null otherwise."""
    actor: CommandActor
    """Who requested it."""
    created_at: Timestamp
    """When it was requested."""
    settled_at: Timestamp | None
    """When the platform stored the outcome; null while it is pending."""


class JobCommandList(ListOf[JobCommand]):
    """Commands in the order of their requests."""


class JobKnob(Schema):
    """A setting that can be changed while the stage runs."""

    name: Knob
    """Name of the knob."""
    field: str
    """The field of the spec, such as `ppo.kl.coef`."""
    value: float | None
    """Present value: that of the spec, or of the newest change. An adaptive controller moves `kl_coef` on from it. Null if the stage lacks the knob."""
    available: bool
    """Whether it can be changed now: the stage has it, and the job is starting or running."""
    reason: str | None
    """Why it is not available, for people; null if it is."""
    minimum: float | None
    """Smallest value; null without one."""
    exclusive_minimum: bool
    """Whether `minimum` itself is not allowed."""
    maximum: float | None
    """Largest value; null without one."""
    exclusive_maximum: bool
    """Whether `maximum` itself is not allowed."""


class JobKnobs(Schema):
    """The live knobs of the job's present stage, and the changes that are not applied yet."""

    object: Literal["job.knobs"] = "job.knobs"
    """Always `job.knobs`."""
    stage: StageName
    """The present or last stage."""
    knobs: list[JobKnob]
    """All knobs, also those that the stage lacks."""
    pending: list[JobCommand]
    """Commands that the trainer has not taken up yet. A job that has ended takes up no more of them."""
