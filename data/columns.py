"""The columns of a file's records, for users who map them to fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from data.files.records import compact

_EXAMPLES, _EXAMPLE_CHARACTERS = 20, 120
_NESTED = 3
"""Levels of objects whose fields are shown as columns of their own."""
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class Column:
    """One field of the records, by its path with dots."""

    name: str
    type: str
    """In words, such as "text or null"."""
    examples: list[str]
    """Up to 20 different values as short texts."""
    share: float
    """Share of the records that have it, from 0 to 1."""


def columns_of(records: list[dict[str, Any]], names: list[str] | None) -> list[Column]:
    """The columns of the records, in order of appearance. Columns that the file names before its records come first, even if they are empty."""
    seen: dict[str, list[Any]] = {name: [] for name in (names or [])[:_MOST_COLUMNS]}
    for record in records:
        for path, value in _paths(record, "", _NESTED):
            if path in seen or len(seen) < _MOST_COLUMNS:
                seen.setdefault(path, []).append(value)
    return [_column(name, values, len(records)) for name, values in seen.items()]


def _paths(record: Mapping[str, Any], before: str, levels: int) -> list[tuple[str, Any]]:
    paths: list[tuple[str, Any]] = []
    for name, value in record.items():
        path = f"{before}{name}"
        if isinstance(value, dict) and value and levels > 1:
            paths += _paths(value, f"{path}.", levels - 1)
        else:
            paths.append((path, value))
    return paths


def _column(name: str, values: list[Any], records: int) -> Column:
    texts = dict.fromkeys(_short(value) for value in values if value is not None)
    types = dict.fromkeys(_type(value) for value in values)
    given = [value for value in values if value is not None]
    return Column(name, " or ".join(types) or "null", list(texts)[:_EXAMPLES], round(len(given) / max(1, records), 4))


def _short(value: Any) -> str:
    return (value if isinstance(value, str) else compact(value))[:_EXAMPLE_CHARACTERS]


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true/false"
        case str():
            return "text"
        case int() | float():
            return "number"
        case [dict() as first, *_] if "content" in first or "value" in first:
            return "messages"
        case list():
            return "list"
    return "object"
