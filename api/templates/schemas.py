"""Schemas of job templates."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from api.schema import ListOf, Schema, Timestamp
from core.jobs.lifecycle.descriptions import Name, Notes


class _Body(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)


def _not_blank(name: str) -> str:
    if not name.strip():
        raise ValueError("must not be empty")
    return name


TemplateName = Annotated[Name, Field(min_length=1), AfterValidator(_not_blank)]


class NewTemplate(_Body):
    """A partial spec under a name."""

    name: TemplateName
    """Unique among your templates."""
    description: Notes = ""
    """For people."""
    spec: dict[str, Any] = Field(default_factory=dict)
    """Any fields of a job spec. Their values must be valid. Other fields that a job needs may come at its submission."""


class ChangeTemplate(_Body):
    """A JSON merge patch (RFC 7396) on a template."""

    name: TemplateName | None = None
    """The new name. It cannot be null."""
    description: Notes | None = None
    """The new description; null empties it."""
    spec: dict[str, Any] | None = None
    """Changes of the spec: null removes a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


class JobFromTemplate(_Body):
    """The changes of the job."""

    patch: dict[str, Any] = Field(default_factory=dict)
    """JSON merge patch (RFC 7396) on the spec of the template: null restores the default of a field, `{"null": true}` sets null, objects are merged, and any other value replaces."""


class Template(Schema):
    """A partial spec from which jobs are submitted."""

    object: Literal["job.template"] = "job.template"
    """Always `job.template`."""
    id: str
    """Begins with `tpl_`."""
    name: str
    """Unique among your templates. A job gets it as its name, unless the spec has one."""
    description: str
    """For people."""
    spec: dict[str, Any]
    """The given fields of a job spec, without defaults."""
    etag: str
    """Changes with what requests can change. Send it as `If-Match` to keep a request from overwriting another change."""
    created_at: Timestamp
    """When it was made."""
    updated_at: Timestamp
    """When it was changed last."""


class TemplateList(ListOf[Template]):
    """Templates, newest first unless asked otherwise."""
