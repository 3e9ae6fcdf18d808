"""Files with any columns: a mapping names the column of each field.

{"fields": {"prompt": "question", "a": "left.text", "b": "right.text", "label": "vote"}, "labels": {"left": "a", "right": "b"}}

A field's value is a column, or a path into nested objects with dots between. The fields decide the kind of the rows.
"""

from collections.abc import Mapping
from typing import Any

from data.errors import RowError, UnusableMapping
from data.formats.base import PREFERENCES, PRETRAINING, PROMPTS, SFT, STEPS, THUMBS, Format, Reading, Row, Rows, Source
from data.formats.labels import label_text, meaning
from data.formats.mapping import FIELDS, FORMS, Values, names_of_sides, with_notes
from data.formats.values import number, time
from data.schema import STEP_LABELS, DatasetKind
from data.verdicts import number_of

_CONTENT = ("chosen", "rejected", "a", "b", "completion", "completions", "steps", "step_labels", "messages", "text")
"""Fields without which a record gives no row."""


def checked(mapping: Mapping[str, Any] | None) -> tuple[DatasetKind, dict[str, Any]]:
    """The kind of the rows of a mapping, and the mapping. Raises UnusableMapping for missing or contradicting fields."""
    fields, labels = (mapping or {}).get("fields"), (mapping or {}).get("labels") or {}
    if not isinstance(fields, Mapping) or not fields:
        raise _invalid("fields", "name the column of each field")
    for name, column in fields.items():
        if name not in FIELDS:
            raise _invalid(f"fields/{name}", f"is none of {', '.join(FIELDS)}")
        if not isinstance(column, str) or not column:
            raise _invalid(f"fields/{name}", "must be the name of a column, or a path with dots")
    if not isinstance(labels, Mapping):
        raise _invalid("labels", "must give a meaning for each value")
    meanings = _meanings(fields)
    for value, meaning_of in labels.items():
        score = "score" in fields and number_of(meaning_of) is not None
        if not score and meaning_of not in (*meanings, None):
            also = ", a number" if "score" in fields else ""
            raise _invalid(
                "labels", f"must give {', '.join(meanings)}{also} or null (not usable) for {str(value)[:40]!r}"
            )
    form = next((form for form in FORMS if form[1] <= set(fields)), None)
    if form is None:
        raise _invalid(
            "fields",
            "are not enough for a row: chosen and rejected, a and b, prompt and completions, prompt and completion (with score, rank or thumb), messages (likewise), steps, prompt or text",
        )
    if strange := sorted(set(fields) - form[2]):
        raise _invalid(f"fields/{strange[0]}", f"does not go with {', '.join(sorted(form[1]))}")
    return form[0], {"fields": dict(fields), "labels": {label_text(key): value for key, value in labels.items()}}


def _meanings(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The possible meanings of a value of the verdict's column: a side of a pair, or a good or bad answer."""
    if "step_labels" in fields:
        return STEP_LABELS
    return ("up", "down") if "thumb" in fields or "score" in fields else ("a", "b", "tie")


def grouped(mapping: Mapping[str, Any]) -> bool:
    """Whether each answer is a record of its own."""
    return "score" in mapping["fields"] or "rank" in mapping["fields"]


def columns(mapping: Mapping[str, Any]) -> frozenset[str]:
    """The columns that a mapping uses: the first name of each path, and the whole path, because a column name may have dots."""
    return frozenset(name for path in mapping["fields"].values() for name in (path, path.partition(".")[0]))


def columns_of(mapping: Mapping[str, Any]) -> list[str]:
    """The paths of a mapping; empty without one."""
    return list(dict.fromkeys(mapping.get("fields", {}).values()))


def names(mapping: Mapping[str, Any]) -> dict[str, str]:
    """JSON pointers into a record, without the leading slash, by field."""
    return names_of_sides({name: path.replace(".", "/") for name, path in mapping["fields"].items()})


def _invalid(pointer: str, detail: str) -> UnusableMapping:
    error = {"pointer": f"#/mapping/{pointer}", "detail": detail}
    return UnusableMapping(f"mapping/{pointer}: {detail}", param="mapping", errors=[error])


def _rows(record: Source, reading: Reading) -> Rows:
    mapping = reading.mapping
    values = {name: _at(record, path) for name, path in mapping["fields"].items()}
    for name, path in mapping["fields"].items():
        absent = path not in record and _at(record, path.partition(".")[0]) is None
        if values[name] is None and (name in _CONTENT or (name == "prompt" and absent)):
            raise RowError("is missing or empty", pointer=f"/{path.replace('.', '/')}", code="missing_field")
    row = Values(values, {}, reading).row(lambda value: meaning(value, mapping["labels"], mapping["fields"]))
    yield with_notes(row, _notes(values, reading))


def _at(record: Source, path: str) -> Any:
    """The value of the column with this name, or the value along the path. None if the path does not exist."""
    if path in record:
        return record[path]
    value: Any = record
    for name in path.split("."):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = _member(value, name) if isinstance(value, dict) else None
    return value


def _member(value: Source, name: str) -> Any:
    """The field of this name, otherwise one whose name differs in case alone."""
    spelt = name if name in value else next((other for other in value if other.lower() == name.lower()), name)
    return value.get(spelt)


def _notes(found: Row, reading: Reading) -> Row:
    notes: Row = {}
    for name in ("annotator", "source", "time", "margin"):
        value = found.get(name)
        if value is None or value == "":
            continue
        notes[name] = (
            number(value, name, reading) if name == "margin" else time(value) if name == "time" else str(value)
        )
    return {name: value for name, value in notes.items() if value is not None}


FORMAT = Format(
    id="custom",
    title="Columns of your own",
    about="Any columns: `mapping.fields` names the column of each field, `mapping.labels` the meaning of each label (null: not usable).",
    source="",
    kinds=(PREFERENCES, THUMBS, STEPS, SFT, PROMPTS, PRETRAINING),
    example=({"question": "The sky is", "left": {"text": " blue."}, "right": {"text": " green."}, "vote": "left"},),
    fields=frozenset(),
    fits=lambda record: 0,
    rows=_rows,
    specific=0,
)
EXAMPLE_MAPPING: dict[str, Any] = {
    "fields": {"prompt": "question", "a": "left.text", "b": "right.text", "label": "vote"},
    "labels": {"left": "a", "right": "b"},
}
