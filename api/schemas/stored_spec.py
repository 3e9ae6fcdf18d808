"""A spec as it was stored, which may be by an older version: described by today's model, and never held against it."""

import typing
from typing import Annotated, Any

from pydantic import BaseModel, PlainSerializer, WrapValidator

from trainer.spec import JobSpec

StoredSpec = Annotated[JobSpec, WrapValidator(lambda stored, _: stored), PlainSerializer(lambda stored: stored)]
"""The schema of a spec; in truth a dict that passes unseen."""


def in_order(stored: dict[str, Any], section: type[BaseModel] = JobSpec) -> dict[str, Any]:
    """With its fields in the order in which the model explains them: the database keeps none. Unknown ones come last."""
    ordered: dict[str, Any] = {}
    for name in (*section.model_fields, *stored):
        if name in stored and name not in ordered:
            field = section.model_fields.get(name)
            inner = _section_in(field.annotation) if field else None
            ordered[name] = in_order(stored[name], inner) if inner and isinstance(stored[name], dict) else stored[name]
    return ordered


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `X`, or inside `X | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in typing.get_args(annotation) if (found := _section_in(inner))), None)
