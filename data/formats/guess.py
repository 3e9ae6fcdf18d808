"""Suggests a mapping by the usual names of columns (`data.names`)."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from data.columns import Column
from data.formats.labels import is_number, suggested
from data.names import (
    SUGGESTED_ANSWERS,
    SUGGESTED_LABELS,
    SUGGESTED_NOTES,
    SUGGESTED_PAIRS,
    SUGGESTED_PROMPTS,
    SUGGESTED_SIDES,
)

_VERDICT = re.compile(r"(^|[._-])(is_\w+|label|tag|verdict|scores?|ratings?|rewards?)$|\.responses$", re.IGNORECASE)
"""Names of columns that rate an answer, such as Argilla's `quality.responses`."""
_YES = re.compile(r"(^|[._-])is_\w+$", re.IGNORECASE)
"""Names such as `is_safe` and `is_toxic`: the user must decide whether yes is better."""
_TEXTS = {"text", "messages"}
"""Types of columns with content."""


def guess(columns: Sequence[Column]) -> dict[str, Any] | None:
    """`{"fields": …, "labels": …}`, or None where no column has a known name of a prompt, pair or answer."""
    names = _named(columns)
    fields: dict[str, str] = {}
    if (prompt := _first(names, SUGGESTED_PROMPTS)) is not None:
        fields["prompt"] = prompt
        if prompt != names.get("input") and prompt == names.get("instruction") and "input" in names:
            fields["input"] = names["input"]
    fields |= _answers(names)
    if not fields.keys() - {"prompt", "input"}:
        return None
    if "completion" in fields and (verdict := _verdict(columns)) is not None:
        if "prompt" not in fields or not _counts(verdict):
            return None  # some of the answers may be bad: they are nothing to imitate
        fields["score"] = verdict.name
    if "chosen" in fields or "a" in fields:
        for note, known in SUGGESTED_NOTES.items():
            if (column := _first(names, known)) is not None:
                fields[note] = column
    values = next((column.examples for column in columns if column.name == fields.get("label")), [])
    return {"fields": fields, "labels": suggested(values, fields)}


def _named(columns: Sequence[Column]) -> dict[str, str]:
    """Columns by their possible names: the whole path, its end, or the object if it has no other text."""
    names = {column.name.lower(): column.name for column in columns}
    texts: dict[str, list[str]] = {}
    for column in columns:
        *parents, end = column.name.lower().split(".")
        names.setdefault(end, column.name)
        for depth in range(len(parents) if _TEXTS.intersection(column.type.split(" or ")) else 0):
            texts.setdefault(".".join(parents[: depth + 1]), []).append(column.name)
    for parent, inside in texts.items():
        if len(inside) == 1:
            names.setdefault(parent.rpartition(".")[2], inside[0])
    return names


def _answers(names: dict[str, str]) -> dict[str, str]:
    for field_names, pairs in ((("chosen", "rejected"), SUGGESTED_SIDES), (("a", "b"), SUGGESTED_PAIRS)):
        for pair in pairs:
            if all(name.lower() in names for name in pair):
                found = {field: names[name.lower()] for field, name in zip(field_names, pair, strict=True)}
                label = _first(names, SUGGESTED_LABELS) if "a" in found else None
                return found | ({"label": label} if label is not None else {})
    answer = _first(names, SUGGESTED_ANSWERS)
    return {"completion": answer} if answer is not None else {}


def _verdict(columns: Sequence[Column]) -> Column | None:
    return next((column for column in columns if column.examples and _VERDICT.search(column.name)), None)


def _counts(verdict: Column) -> bool:
    """Whether a higher value is better, by the column's name and values: numbers, true and false."""
    return not _YES.search(verdict.name) and all(_is_score(text) for text in verdict.examples)


def _is_score(text: str) -> bool:
    return text.strip().lower() in ("true", "false") or is_number(text)


def _first(names: dict[str, str], known: Iterable[str]) -> str | None:
    return next((names[name] for name in known if name in names), None)
