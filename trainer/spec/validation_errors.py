"""Turns pydantic's validation errors into messages with a place, a reason and the nearest known name."""

import difflib
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from trainer.spec import STAGES, JobSpec

SectionType = type[BaseModel]
_PLAIN = {
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_too_short": "must not be empty",
}
_PATTERNS = {
    "^https?://": "must begin with http:// or https://",
    "^[a-z0-9_]{1,40}$": "must be 1 to 40 small letters, digits and underscores",
}
_SURE, _MAYBE = 0.8, 0.5
"""Two thresholds of difflib's similarity ratio. A name above the first is offered before a field of the same name in
another section, a name above the second after it."""


@dataclass(frozen=True)
class Problem:
    """One error of a spec. `pointer` is a JSON pointer such as `#/ppo/kl/coef`."""

    pointer: str
    detail: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.detail}"


@dataclass(frozen=True)
class ErrorLocation:
    """Where an error is in the user's file."""

    path: list[int | str]
    """The keys that lead to it, without the names of union members that pydantic adds."""
    section: SectionType | None
    """The section in which the last key is, or would be, a field."""
    union: tuple[int | str, ...] | None
    """The path of the outermost field on the way that is a union; None without one."""
    inside: bool
    """Whether the error is inside a union's value, not at the choice between its members."""


def explain(
    error: ValidationError, model: SectionType = JobSpec, ignored: Callable[[ErrorDetails], bool] = lambda _: False
) -> list[Problem]:
    """Describe every problem of `error` but the ignored ones. The validation of `model` has raised it."""
    items = [item for item in error.errors(include_url=False) if not ignored(item)]
    locations = [locate(item["loc"], model) for item in items]
    problems = [
        _problem(item, location, model)
        for item, location in zip(items, locations, strict=True)
        if not _is_redundant(item, location, items, locations)
    ]
    return list(dict.fromkeys(problems))


def _is_redundant(item: Any, location: ErrorLocation, items: Sequence[Any], locations: Sequence[ErrorLocation]) -> bool:
    """Whether another item reports the cause.

    pydantic also reports that the value is none of the other members of a union, and that a list lacks an item that
    is itself invalid.
    """
    if item["type"] == "too_short":
        return any(other.path[:-1] == location.path for other in locations)
    if location.union is None or _is_inside(item, location):
        return False
    pairs = zip(items, locations, strict=True)
    return any(other.union == location.union and _is_inside(one, other) for one, other in pairs)


def _is_inside(item: Any, location: ErrorLocation) -> bool:
    return location.inside or item["type"].startswith("union_tag_")


def _problem(item: Any, location: ErrorLocation, model: SectionType) -> Problem:
    pointer = "/".join(["#", *map(str, location.path)])
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(pointer, _unknown_field(location, model))
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
        name = context["discriminator"].strip("'")
        return Problem(f"{pointer}/{name}", unknown_name(name, context["tag"], known))
    if kind == "union_tag_not_found":
        return Problem(pointer, "needs a `{}` that names its kind".format(context["discriminator"].strip("'")))
    if item["input"] is None and kind in _PLAIN and location.path[-1:] and location.path[-1] in STAGES:
        stage = location.path[-1]
        return Problem(pointer, f"cannot be null; to leave the stage out, leave {stage!r} out of `stages`")
    if kind == "too_short":
        least = context["min_length"]
        return Problem(pointer, f"must not be empty: {least} at least {'is' if least == 1 else 'are'} needed")
    if kind == "string_pattern_mismatch":
        return Problem(pointer, _PATTERNS.get(context["pattern"]) or f"must match the pattern {context['pattern']}")
    return Problem(pointer, _PLAIN.get(kind) or str(item["msg"]).removeprefix("Value error, "))


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """The text for an unknown `kind` of thing, with the nearest of the `known` names, or all of them if none is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=_MAYBE)
    hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known) or 'none'}."
    return f"unknown {kind} {name!r}; {hint}"


def _unknown_field(location: ErrorLocation, model: SectionType) -> str:
    name = str(location.path[-1])
    known = list(location.section.model_fields) if location.section else []
    if near := difflib.get_close_matches(name, known, n=1, cutoff=_SURE):
        hint = f"did you mean {near[0]!r}?"
    elif moved := _elsewhere(name, location, model):
        hint = f"did you mean {' or '.join(f'`{path}`' for path in moved)}?"
    elif near := difflib.get_close_matches(name, known, n=1, cutoff=_MAYBE):
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"known here: {', '.join(known)}."
    return f"unknown field {name!r}; {hint}"


def _elsewhere(name: str, location: ErrorLocation, model: SectionType) -> list[str]:
    """At most three fields of that name in other sections, nearest first: `clip_range`, or `kl_coef` for `kl.coef`."""
    here = location.path[:-1]
    found = [path for path in leaves(model) if any("_".join(path[first:]) == name for first in range(len(path)))]
    shared = {path: _shared(path, here) for path in found}
    best = max(shared.values(), default=0)
    return [".".join(path) for path in found if shared[path] == best][:3]


def _shared(path: Sequence[str], other: Sequence[int | str]) -> int:
    """The number of sections that two paths share from the top."""
    count = 0
    for one, two in zip(path, other, strict=False):
        if one != two:
            break
        count += 1
    return count


def locate(loc: tuple[int | str, ...], model: SectionType) -> ErrorLocation:
    """Follow a location of pydantic's through the annotations of `model`."""
    path: list[int | str] = []
    kind: Any = model
    section: SectionType | None = None
    union: tuple[int | str, ...] | None = None
    inside = False
    for part in loc:
        inside = union is not None
        members = _members(kind)
        if discriminator := _discriminator(kind):
            kind = next((member for member in members if part in _tags(member, discriminator)), None)
        elif len(members) > 1:
            union = tuple(path) if union is None else union
            kind = next((member for member in members if _is_label_of(part, member)), None)
        elif members and (is_section(members[0]) or _items(members[0]) is not None):
            section = members[0] if is_section(members[0]) else None
            path.append(part)
            kind = _value_at(members[0], part)
        else:
            break
    return ErrorLocation(path, section, union, inside)


def is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def section_of(field: FieldInfo) -> SectionType | None:
    """The section that a field holds, annotated as `X` or `X | None`."""
    members = _members(field.annotation)
    return members[0] if len(members) == 1 and is_section(members[0]) else None


def leaves(model: SectionType, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field that is no section, as `("ppo", "kl", "coef")`."""
    for name, field in model.model_fields.items():
        section = section_of(field)
        if section is None:
            yield (*path, name)
        else:
            yield from leaves(section, (*path, name))


def _value_at(kind: Any, part: int | str) -> Any:
    """The type of the value under that key of a section, a list or a mapping; None for an unknown field."""
    if is_section(kind):
        field = kind.model_fields.get(str(part))
        # pydantic puts a discriminator on the field itself where the union is its whole annotation.
        return typing.Annotated[field.annotation, field] if field else None
    return _items(kind)


def _items(kind: Any) -> Any:
    """The type of the values of a list, tuple or mapping; None for anything else."""
    if typing.get_origin(kind) in (list, tuple, dict):
        return [argument for argument in typing.get_args(kind) if argument is not Ellipsis][-1]
    return None


def _members(kind: Any) -> list[Any]:
    """The types that a value may have, without None: several for a union."""
    if typing.get_origin(kind) is typing.Annotated:
        return _members(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [member for member in typing.get_args(kind) if member is not type(None)]
    return [] if kind is None else [kind]


def _discriminator(kind: Any) -> str | None:
    """The field that names the member of a tagged union, such as `type`; None for any other type."""
    if typing.get_origin(kind) is not typing.Annotated:
        return None
    inner, *metadata = typing.get_args(kind)
    named = (note.discriminator for note in metadata if isinstance(note, FieldInfo))
    return next((name for name in named if isinstance(name, str)), None) or _discriminator(inner)


def _tags(member: Any, discriminator: str) -> tuple[Any, ...]:
    return typing.get_args(member.model_fields[discriminator].annotation) if is_section(member) else ()


def _is_label_of(label: int | str, member: Any) -> bool:
    """Whether `label` is pydantic's name for this member of a union."""
    name = str(label)
    if _discriminator(member):
        return name.startswith("tagged-union")
    if is_section(member):
        return member.__name__ in name
    origin = typing.get_origin(member)
    return origin is not None and name.startswith(f"{getattr(origin, '__name__', '')}[") and _items(member) is not None
