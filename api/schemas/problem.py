from typing import Any

from pydantic import ConfigDict

from api.schemas.base import Schema


class ProblemItem(Schema):
    """One of several things wrong."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    detail: str
    """What is wrong, and often what would be right."""
    pointer: str | None = None
    """Where: `#/ppo/policy_loss/clip_range` in a JSON body, `?limit` in the query, `/chosen` in a dataset's row."""
    line: int | None = None
    """Line of an uploaded file, from 1."""
    column: int | None = None
    """Column of that line in characters, from 1."""


class Problem(Schema):
    """An error, as RFC 9457 shapes it. Some codes carry further members, such as `from`, `to` and `allowed`."""

    model_config = ConfigDict(extra="allow", json_schema_serialization_defaults_required=False)

    type: str
    """Names the kind of problem."""
    title: str
    """The kind of problem in words; the same each time."""
    status: int
    """The HTTP status."""
    detail: str
    """What happened this time, for people."""
    instance: str
    """The path that was asked for."""
    code: str
    """The kind of problem, for programs."""
    request_id: str
    """Finds this request in the server's log."""
    param: str | None = None
    """The parameter or field at fault, where there is one."""
    errors: list[ProblemItem] | None = None
    """Every thing wrong, where there may be several."""
    error_count: int | None = None
    """How many there are, where not all are listed."""
    allowed: list[Any] | None = None
    """For `invalid_transition`: the states that the job can go to."""
