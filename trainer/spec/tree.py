"""The spec's shape, read from its annotations: what a location of pydantic's means in a person's file."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Section = type[BaseModel]
Path = list[int | str]


@dataclass(frozen=True)
class Place:
    """Where an error stands."""

    path: Path
    """As in the person's file: without the names of union members that pydantic puts into a location."""
    section: Section | None
    """The section in which the last part of the path is, or would be, a field."""
    union: tuple[int | str, ...] | None
    """The path of the outermost field on the way that may be one of several kinds of thing, if there is one."""
    inside: bool
    """The error stands inside one of those, not at the choice itself."""


def locate(loc: tuple[int | str, ...], model: Section) -> Place:
    """Follow a location through the annotations of `model`."""
    path: Path = []
    kind: Any = model
    section: Section | None = None
    union: tuple[int | str, ...] | None = None
    inside = False
    for part in loc:
        inside = union is not None
        members = _members(kind)
        if _tagged(kind):
            kind = next((member for member in members if part in _tags(member)), None)
        elif len(members) > 1:
            union = tuple(path) if union is None else union
            kind = next((member for member in members if _bears(part, member)), None)
        elif members and (is_section(members[0]) or _items(members[0]) is not None):
            section = members[0] if is_section(members[0]) else None
            path.append(part)
            kind = _inside(members[0], part)
        else:
            break
    return Place(path, section, union, inside)


def is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def section_of(field: FieldInfo) -> Section | None:
    """The section that a field holds: `X`, or `X | None`."""
    members = _members(field.annotation)
    return members[0] if len(members) == 1 and is_section(members[0]) else None


def leaves(model: Section, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field that is no section, as `("ppo", "kl", "coef")`."""
    for name, field in model.model_fields.items():
        section = section_of(field)
        if section is None:
            yield (*path, name)
        else:
            yield from leaves(section, (*path, name))


def _inside(kind: Any, part: int | str) -> Any:
    """What a section, a list or a mapping holds there; None for a field that it has not."""
    if is_section(kind):
        field = kind.model_fields.get(str(part))
        # A discriminator stands on the field itself where the union is its whole annotation.
        return typing.Annotated[field.annotation, field] if field else None
    return _items(kind)


def _items(kind: Any) -> Any:
    """The type of a list's, tuple's or mapping's values; None for anything else."""
    if typing.get_origin(kind) in (list, tuple, dict):
        return [argument for argument in typing.get_args(kind) if argument is not Ellipsis][-1]
    return None


def _members(kind: Any) -> list[Any]:
    """What a value may be, None left out: one thing, or several of a union."""
    if typing.get_origin(kind) is typing.Annotated:
        return _members(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [member for member in typing.get_args(kind) if member is not type(None)]
    return [] if kind is None else [kind]


def _tagged(kind: Any) -> bool:
    """Whether a union says by a field of its members which one a value is."""
    if typing.get_origin(kind) is not typing.Annotated:
        return False
    inner, *metadata = typing.get_args(kind)
    return any(isinstance(note, FieldInfo) and note.discriminator for note in metadata) or _tagged(inner)


def _tags(member: Any) -> tuple[Any, ...]:
    return typing.get_args(member.model_fields["type"].annotation) if is_section(member) else ()


def _bears(label: int | str, member: Any) -> bool:
    """Whether `label` is pydantic's name for this member of a union."""
    name = str(label)
    if _tagged(member):
        return name.startswith("tagged-union")
    if is_section(member):
        return member.__name__ in name
    origin = typing.get_origin(member)
    return origin is not None and name.startswith(f"{getattr(origin, '__name__', '')}[") and _items(member) is not None
