"""Bodies of the requests that change jobs."""

from typing import Annotated

from pydantic import ConfigDict, Field

from api.schema import Schema


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


class TransitionReason(_Body):
    """Why a user changes the state of a job. The body may be left out."""

    reason: Annotated[str, Field(max_length=500)] = ""
    """The reason, for the event of the transition and for `status_reason`. Empty: a sentence that names the request."""
