"""Turns pydantic's validation errors into what a person needs: where, what is wrong, and the nearest known name."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from trainer.spec import STAGES, JobSpec
from trainer.spec.tree import Place, Section, leaves, locate

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
"""How alike two names must be (difflib's ratio) to be offered before, and after, a field of that very name elsewhere."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a spec. `pointer` is a JSON pointer such as `#/ppo/kl/coef`."""

    pointer: str
    detail: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.detail}"


def explain(error: ValidationError, model: type[BaseModel] = JobSpec) -> list[Problem]:
    """Describe every problem of `error`, raised while validating `model`."""
    items = error.errors(include_url=False)
    places = [locate(item["loc"], model) for item in items]
    told = [
        _problem(item, place, model)
        for item, place in zip(items, places, strict=True)
        if not _beside_the_point(item, place, items, places)
    ]
    return list(dict.fromkeys(told))


def _beside_the_point(item: Any, place: Place, items: Sequence[Any], places: Sequence[Place]) -> bool:
    """What pydantic says beside the trouble itself: that the value is not one of the other kinds of thing either, or
    that a list is short of the item that was wrong."""
    if item["type"] == "too_short":
        return any(other.path[:-1] == place.path for other in places)
    if place.union is None or _is_inside(item, place):
        return False
    pairs = zip(items, places, strict=True)
    return any(other.union == place.union and _is_inside(one, other) for one, other in pairs)


def _is_inside(item: Any, place: Place) -> bool:
    return place.inside or item["type"].startswith("union_tag_")


def _problem(item: Any, place: Place, model: Section) -> Problem:
    pointer = "/".join(["#", *map(str, place.path)])
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(pointer, _unknown_field(place, model))
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in context["expected_tags"].split(",")]
        return Problem(f"{pointer}/type", _unknown_type(context["tag"], known))
    if kind == "union_tag_not_found":
        return Problem(pointer, "needs a `type` that says which kind it is")
    if item["input"] is None and kind in _PLAIN and place.path[-1:] and place.path[-1] in STAGES:
        stage = place.path[-1]
        return Problem(pointer, f"cannot be null; to leave the stage out, leave {stage!r} out of `stages`")
    if kind == "too_short":
        least = context["min_length"]
        return Problem(pointer, f"must not be empty: {least} at least {'is' if least == 1 else 'are'} needed")
    if kind == "string_pattern_mismatch":
        return Problem(pointer, _PATTERNS.get(context["pattern"]) or f"must match the pattern {context['pattern']}")
    return Problem(pointer, _PLAIN.get(kind) or str(item["msg"]).removeprefix("Value error, "))


def _unknown_type(tag: str, known: list[str]) -> str:
    near = difflib.get_close_matches(tag, known, n=1, cutoff=_MAYBE)
    return f"unknown type {tag!r}; " + (f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}.")


def _unknown_field(place: Place, model: Section) -> str:
    name = str(place.path[-1])
    known = list(place.section.model_fields) if place.section else []
    if near := difflib.get_close_matches(name, known, n=1, cutoff=_SURE):
        hint = f"did you mean {near[0]!r}?"
    elif moved := _elsewhere(name, place, model):
        hint = f"did you mean {' or '.join(f'`{path}`' for path in moved)}?"
    elif near := difflib.get_close_matches(name, known, n=1, cutoff=_MAYBE):
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"known here: {', '.join(known)}."
    return f"unknown field {name!r}; {hint}"


def _elsewhere(name: str, place: Place, model: Section) -> list[str]:
    """Fields of that name in other sections, nearest first: `clip_range`, or `kl_coef` for `kl.coef`; three at most."""
    here = place.path[:-1]
    found = [path for path in leaves(model) if any("_".join(path[first:]) == name for first in range(len(path)))]
    shared = {path: _shared(path, here) for path in found}
    best = max(shared.values(), default=0)
    return [".".join(path) for path in found if shared[path] == best][:3]


def _shared(path: Sequence[str], other: Sequence[int | str]) -> int:
    """How many sections two paths have in common from the top."""
    count = 0
    for one, two in zip(path, other, strict=False):
        if one != two:
            break
        count += 1
    return count
