"""The events of a job in the OpenAPI document: one schema for each kind, made from the trainer's event models."""

import inspect
import typing
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from api.jobs.schemas import JobError
from api.schema import ListOf, Schema, Timestamp
from core.jobs.lifecycle.actors import ActorKind
from core.jobs.run.events import SEED_IN_DATA
from core.models.jobs import JobStatus
from trainer.events import Event


class _EventEnvelope(Schema):
    """The fields that all events have."""

    object: Literal["job.event"] = "job.event"
    """Always `job.event`."""
    job_id: str
    """The job that it belongs to."""
    seq: int
    """Sequence number in the job, from 1 without gaps. It is the event id of the stream and the cursor of this list."""
    attempt: int
    """The attempt that reported it."""
    type: str
    """The kind of event."""
    created_at: Timestamp
    """When it happened."""
    seed: int | None
    """Seed of the event, in a job with several; null if it concerns the whole job, and with one seed."""
    stage: str | None
    """Stage of the event; null if it concerns the whole job."""
    step: int | None
    """Step of the event; null if it has none."""


class _Variant(_EventEnvelope):
    """Base of the event kinds. They are made at run time, so their fields have no docstrings in source code."""

    model_config = ConfigDict(use_attribute_docstrings=False)


class JobEvent(_EventEnvelope):
    """An event of a job; `type` selects the fields of `data`. The stream sends the same object."""

    data: dict[str, Any]
    """The event's own fields."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """One schema for each kind. It only describes `data`: an event that an older version stored is not validated."""
        described = handler(_ANY_KIND.core_schema)
        return described | {"description": inspect.getdoc(cls)}


class JobEventList(ListOf[JobEvent]):
    """Events in order. The cursor is the sequence number."""


class Actor(Schema):
    """The cause of a transition."""

    kind: ActorKind
    """`api_key`: a request. `worker`: the worker that held the job. `health_rule`: a rule of the trainer. `platform`: the sweeper."""
    id: str | None
    """Id of the key or of the worker, or name of the rule; null for the platform."""
    name: str | None
    """Name of the key when it acted, or of a part of the platform; null for the others."""


class StatusChanged(BaseModel):
    """The platform moved the job to another state."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: Literal["status_changed"]
    from_: JobStatus | None = Field(alias="from")
    """The state before; null for a new job."""
    to: JobStatus
    """The state since this event."""
    reason: str
    """Why, for people."""
    error: JobError | None
    """Why the job failed; null for other states."""
    actor: Actor | None = None
    """Who changed it; absent in events of older versions."""


def _variant(event: type[BaseModel]) -> type[BaseModel]:
    """The envelope with the event's `type`, and with its other fields as `data`."""
    name, kind = event.__name__, event.model_fields["type"].annotation
    left_out = ("type", "at") if typing.get_args(kind)[0] in SEED_IN_DATA else ("type", "at", "seed")
    fields: dict[str, Any] = {
        field: (info.annotation, info) for field, info in event.model_fields.items() if field not in left_out
    }
    data = create_model(f"{name}Data", __doc__=event.__doc__, **fields)
    described: dict[str, Any] = {
        "type": (kind, Field(description=f"Always `{typing.get_args(kind)[0]}`.")),
        "data": (data, Field(description="The event's own fields.")),
    }
    return create_model(f"{name}Event", __base__=_Variant, __doc__=event.__doc__, **described)


_KINDS: tuple[type[BaseModel], ...] = (StatusChanged, *typing.get_args(typing.get_args(Event)[0]))
TYPES: tuple[str, ...] = tuple(typing.get_args(kind.model_fields["type"].annotation)[0] for kind in _KINDS)
"""Every type of event."""
_UNION: Any = typing.Union[tuple(map(_variant, _KINDS))]  # noqa: UP007  a union of the members of a tuple
_ANY_KIND: TypeAdapter[Any] = TypeAdapter(Annotated[_UNION, Field(discriminator="type")])
