# `make openapi` generates this file from trainer/spec/nulls.py; do not edit it.

"""Null where it cannot be written: in TOML, and in a merge patch, where null restores a default (RFC 7396).

`{ null = true }` stands for null. An object that really is `{"null": true}` is written `{ null = [true] }`, one that is
`{"null": [true]}` as `{ null = [[true]] }`, and so on, so that every value has exactly one text.
"""

from collections.abc import Mapping
from typing import Any

NULL = {"null": True}
"""Null in TOML and in a merge patch."""


def is_null(value: object) -> bool:
    """Whether the value stands for null."""
    return isinstance(value, Mapping) and len(value) == 1 and value.get("null") is True


def without_nulls(value: Any) -> Any:
    """The value with the notation in place of every null, as TOML can hold it."""
    if value is None:
        return dict(NULL)
    if isinstance(value, Mapping):
        return {name: without_nulls(one) for name, one in _escaped(value).items()}
    return [without_nulls(one) for one in value] if isinstance(value, list | tuple) else value


def with_nulls(value: Any) -> Any:
    """The value that a TOML file stands for: the inverse of `without_nulls`."""
    if is_null(value):
        return None
    if isinstance(value, Mapping):
        return {name: with_nulls(one) for name, one in _unescaped(value).items()}
    return [with_nulls(one) for one in value] if isinstance(value, list) else value


def as_patch(value: Any) -> Any:
    """A merge patch that sets these fields, null included. Lists are replaced whole, so their nulls stay."""
    if value is None:
        return dict(NULL)
    return {name: as_patch(one) for name, one in _escaped(value).items()} if isinstance(value, Mapping) else value


def merge_patch(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7396, section 2: null deletes a member, objects are merged, anything else replaces.

    Beyond the RFC, `{"null": true}` sets a member to null.
    """
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) and not is_null(target) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif is_null(value):
            merged[name] = None
        elif _wraps_true(value):
            merged[name] = _unescaped(value)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _escaped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"null": [value["null"]]} if is_null(value) or _wraps_true(value) else value


def _unescaped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"null": value["null"][0]} if _wraps_true(value) else value


def _wraps_true(value: object) -> bool:
    """Whether the value is `{"null": [true]}`, `{"null": [[true]]}` and so on."""
    inner = value.get("null") if isinstance(value, Mapping) and len(value) == 1 else None
    wrapped = False
    while isinstance(inner, list) and len(inner) == 1:
        wrapped, inner = True, inner[0]
    return wrapped and inner is True
