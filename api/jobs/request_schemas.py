"""Bodies of the requests that change jobs."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from api.schema import Schema


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class CloneJob(_Body):
    """The changes of a clone."""

    patch: dict[str, Any] = Field(default_factory=dict)
    """JSON merge patch (RFC 7396) on the stored spec: null restores the default of a field, objects are merged, and any other value replaces."""


class TransitionReason(_Body):
    """Why a user changes the state of a job. The body may be left out."""

    reason: Annotated[str, Field(max_length=500)] = ""
    """The reason, for the event of the transition and for `status_reason`. Empty: a sentence that names the request."""
