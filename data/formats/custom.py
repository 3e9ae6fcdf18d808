"""Files with any columns: a mapping names the column of each field.

{"fields": {"prompt": "question", "a": "left.text", "b": "right.text", "label": "vote"}, "labels": {"left": "a", "right": "b"}}

A field's value is a column, or a path into nested objects with dots between. The fields decide the kind of the rows.
"""

from collections.abc import Mapping
from typing import Any

from data.errors import RowError, UnusableMapping
from data.formats import chat
from data.formats.base import PREFERENCES, PRETRAINING, PROMPTS, SFT, THUMBS, Format, Rated, Reading, Row, Rows, Source
from data.formats.labels import label_text, meaning
from data.formats.pairs import common_prompt, compared
from data.formats.values import listed, number, ranked, time, truth
from data.kinds import DatasetKind

FIELDS = (
    "prompt", "system", "input", "chosen", "rejected", "a", "b", "label", "completion", "messages", "completions", "ranks",
    "scores", "score", "thumb", "text", "answer", "margin", "annotator", "source", "time",
)  # fmt: skip
_FORMS: tuple[tuple[DatasetKind, frozenset[str], frozenset[str]], ...] = tuple(
    (kind, frozenset(needed), frozenset(needed) | {"prompt", "system", "input", "source"} | frozenset(more))
    for kind, needed, more in (
        (PREFERENCES, ("chosen", "rejected"), ("margin", "annotator", "time")),
        (PREFERENCES, ("a", "b"), ("label", "margin", "annotator", "time")),
        (PREFERENCES, ("prompt", "completions"), ("ranks", "scores", "annotator", "time")),
        (PREFERENCES, ("prompt", "completion", "score"), ("annotator", "time")),
        (THUMBS, ("prompt", "completion", "thumb"), ("annotator", "time")),
        (SFT, ("messages",), ()),
        (SFT, ("prompt", "completion"), ()),
        (PRETRAINING, ("text",), ()),
        (PROMPTS, ("prompt",), ("answer",)),
    )
)
"""For each kind: the required fields, and the optional ones."""


def checked(mapping: Mapping[str, Any] | None) -> tuple[DatasetKind, dict[str, Any]]:
    """The kind of the rows of a mapping, and the mapping. Raises UnusableMapping for missing or contradicting fields."""
    fields, labels = (mapping or {}).get("fields"), (mapping or {}).get("labels") or {}
    if not isinstance(fields, Mapping) or not fields:
        raise _invalid("fields", "say which column is which field")
    for name, column in fields.items():
        if name not in FIELDS:
            raise _invalid(f"fields/{name}", f"is none of {', '.join(FIELDS)}")
        if not isinstance(column, str) or not column:
            raise _invalid(f"fields/{name}", "must be the name of a column, or a path with dots")
    if not isinstance(labels, Mapping) or not all(value in ("a", "b", "tie", None) for value in labels.values()):
        raise _invalid("labels", "must say a, b, tie or null (not usable) for each value")
    form = next((form for form in _FORMS if form[1] <= set(fields)), None)
    if form is None:
        raise _invalid(
            "fields",
            "are not enough for a row: chosen and rejected, a and b, prompt and completions, prompt and completion (with score or thumb), messages, prompt or text",
        )
    if strange := sorted(set(fields) - form[2]):
        raise _invalid(f"fields/{strange[0]}", f"does not go with {', '.join(sorted(form[1]))}")
    return form[0], {"fields": dict(fields), "labels": {label_text(key): value for key, value in labels.items()}}


def grouped(mapping: Mapping[str, Any]) -> bool:
    """Whether each answer is a record of its own."""
    return "score" in mapping["fields"]


def columns(mapping: Mapping[str, Any]) -> frozenset[str]:
    """The columns that a mapping uses: a path's whole name too, which may have dots of its own."""
    return frozenset(name for path in mapping["fields"].values() for name in (path, path.partition(".")[0]))


def _invalid(pointer: str, detail: str) -> UnusableMapping:
    error = {"pointer": f"#/mapping/{pointer}", "detail": detail}
    return UnusableMapping(f"mapping/{pointer}: {detail}", param="mapping", errors=[error])


def _rows(record: Source, reading: Reading) -> Rows:
    """Which rows, the fields say, as in `checked`."""
    fields = reading.mapping["fields"]
    found = {name: _at(record, path) for name, path in fields.items()}
    for name, path in fields.items():
        if found[name] is None and name in (
            "chosen",
            "rejected",
            "a",
            "b",
            "completion",
            "completions",
            "messages",
            "text",
        ):
            raise RowError("is missing or empty", pointer=f"/{path.replace('.', '/')}", code="missing_field")
    yield from _made(found, reading)


def _made(found: Row, reading: Reading) -> Rows:
    if "chosen" in found or "a" in found:
        sides = ("chosen", "rejected") if "chosen" in found else ("a", "b")
        texts = isinstance(found[sides[0]], str) and isinstance(found[sides[1]], str)
        if texts and "prompt" not in found:
            prompt, a, b = common_prompt(found[sides[0]], found[sides[1]])
        else:
            prompt, a, b = compared(_prompt(found), found[sides[0]], found[sides[1]], sides, reading)
        label = "a" if sides[0] == "chosen" else _label(found, reading.mapping)
        yield {"prompt": chat.told(found.get("system"), prompt), "a": a, "b": b, "label": label} | _notes(
            found, reading
        )
    elif "completions" in found:
        yield _ranking(found, reading) | _notes(found, reading)
    elif "score" in found:
        answer = chat.answer(found["completion"], "/completion")
        yield Rated(_prompt(found), answer, _score(found["score"], reading), _notes(found, reading))
    elif "thumb" in found:
        thumb = "up" if truth(found["thumb"], "thumb") else "down"
        answer = chat.answer(found["completion"], "/completion")
        yield {"prompt": _prompt(found), "completion": answer, "thumb": thumb} | _notes(found, reading)
    elif "messages" in found:
        messages = chat.told(found.get("system"), chat.messages(found["messages"], "/messages"))
        yield {"messages": messages} | _notes(found, reading)
    elif "text" in found:
        yield {"text": found["text"]} | _notes(found, reading)
    else:
        rest = {name: found[name] for name in ("completion", "answer") if found.get(name) is not None}
        yield {"prompt": _prompt(found)} | rest | _notes(found, reading)


def _at(record: Source, path: str) -> Any:
    """The column of this name, or what lies along the path; None where the path ends."""
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


def _prompt(found: Row) -> Any:
    """Text or messages; an input goes below it, a system message before it. None if there is none."""
    prompt, extra = found.get("prompt"), found.get("input")
    if prompt is None:
        return None
    if not isinstance(prompt, str):
        prompt = chat.messages(prompt, "/prompt")
    elif isinstance(extra, str) and extra.strip():
        prompt = f"{prompt}\n{extra}"
    return chat.told(found.get("system"), prompt)


def _label(found: Row, mapping: Mapping[str, Any]) -> str | None:
    """The label of the record; None where the mapping has no label column."""
    return meaning(found["label"], mapping["labels"], mapping["fields"]) if "label" in found else None


def _score(value: Any, reading: Reading) -> float:
    """A number, or a thumb: true is better than false."""
    thumb = isinstance(value, bool) or str(value).strip().lower() in ("true", "false")
    return float(truth(value, "score")) if thumb else number(value, "score", reading)


def _ranking(found: Row, reading: Reading) -> Row:
    texts = [chat.answer(value, f"/completions/{index}") for index, value in enumerate(listed(found, "completions"))]
    measure = next((name for name in ("ranks", "scores") if name in found), None)
    if measure is None:
        return {"prompt": _prompt(found), "completions": texts, "ranks": None}
    values = [number(value, f"{measure}/{index}", reading) for index, value in enumerate(listed(found, measure))]
    if len(values) != len(texts):
        raise RowError(f"has {len(values)} entries for {len(texts)} answers", pointer=f"/{measure}", code="wrong_type")
    sign = -1 if measure == "ranks" else 1
    return ranked(_prompt(found), [(text, sign * value) for text, value in zip(texts, values, strict=True)], reading)


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
    about="Any columns: `mapping.fields` says which is which, `mapping.labels` what the values of the label mean (null: not usable).",
    source="",
    kinds=(PREFERENCES, THUMBS, SFT, PROMPTS, PRETRAINING),
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
