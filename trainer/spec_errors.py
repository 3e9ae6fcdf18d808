"""Turns pydantic's validation errors into what a person needs: where, what is wrong, and the nearest known name."""

import difflib
import types
import typing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from trainer.spec import JobSpec


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a spec. `pointer` is a JSON pointer such as `#/ppo/clip_range`."""

    pointer: str
    detail: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.detail}"


def explain(error: ValidationError, model: type[BaseModel] = JobSpec) -> list[Problem]:
    """Describe every problem of `error`, raised while validating `model`."""
    return [_problem(item, model) for item in error.errors(include_url=False)]


def _problem(item: Any, model: type[BaseModel]) -> Problem:
    path = _without_union_tags(item["loc"], model)
    pointer = "#/" + "/".join(str(part) for part in path) if path else "#"
    if item["type"] == "extra_forbidden":
        return Problem(pointer, _unknown_field(str(path[-1]), _section_at(path[:-1], model)))
    if item["type"] in ("model_type", "model_attributes_type"):
        return Problem(pointer, "must be an object")
    return Problem(pointer, str(item["msg"]).removeprefix("Value error, "))


def _unknown_field(name: str, section: type[BaseModel] | None) -> str:
    known = list(section.model_fields) if section else []
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}."
    return f"unknown field {name!r}; {hint}"


def _without_union_tags(loc: tuple[int | str, ...], model: type[BaseModel]) -> list[int | str]:
    """Pydantic adds the names of union members ('int', "literal['auto']") to a location; a person's file has no such level."""
    path: list[int | str] = []
    section: type[BaseModel] | None = model
    for part in loc:
        if section is None and isinstance(part, str) and path and _is_leaf(path, model):
            break
        path.append(part)
        section = _section_at(path, model)
    return path


def _is_leaf(path: list[int | str], model: type[BaseModel]) -> bool:
    """Whether `path` names a declared field that is no section: what follows in a location is pydantic's own."""
    parent = _section_at(path[:-1], model)
    return (
        parent is not None
        and path[-1] in parent.model_fields
        and "dict" not in str(parent.model_fields[str(path[-1])].annotation)
    )


def _section_at(path: list[int | str], model: type[BaseModel]) -> type[BaseModel] | None:
    section: type[BaseModel] | None = model
    for part in path:
        field = section.model_fields.get(str(part)) if section else None
        section = _model_in(field.annotation) if field else None
    return section


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The section inside `X`, `X | None` or `Annotated[X, …]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Annotated):
        return next((found for arg in typing.get_args(annotation) if (found := _model_in(arg))), None)
    return None
