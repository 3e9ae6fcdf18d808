"""The fields of a row of each kind, and its canonical form. There is one parser: uploads and the trainer use it.

    preferences  {"prompt", "a", "b", "label": "a"|"b"|"tie"|null} and optional notes: "annotator", "margin", "source", "time".
                 {"prompt", "chosen", "rejected"} is also accepted, with the same notes.
                 A ranking is {"prompt", "completions": [texts], "ranks": [integers]|null}, with the notes but "margin".
                 Rank 1 is the best; equal ranks are a tie.
                 A null label, or null ranks, means that the completions have not been compared. Such a row waits for annotation.
    thumbs       {"prompt", "completion", "thumb": "up"|"down"} and optional notes: "annotator", "source", "time".
                 TRL's "label" (true or false) is also accepted in place of "thumb".
    steps        {"prompt", "steps": [texts], "labels": ["good"|"neutral"|"bad", one for each step]}, with the notes of thumbs.
                 TRL's labels true and false are also accepted, in place of "good" and "bad" in the whole row.
    sft          {"prompt", "completion"} or {"messages"}, a conversation with an assistant turn.
    prompts      {"prompt"} and optionally "answer": text or a number. An object or a list becomes its JSON text.
    pretraining  {"text"}.

A prompt is text or a list of messages, the last one the user's, and stays in its form. A completion is text or one assistant
message and becomes text. A ranking stays one row, so that its pairs count together. "source" is optional in every kind.
Unknown fields are refused, because the value of a misspelt optional field would be lost.
"""

import difflib
import json
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from data.column_meaning import names_verdict
from data.errors import RowError

Row = dict[str, Any]
Message = dict[str, str]
Prompt = str | list[Message]
ROLES = ("system", "user", "assistant")
LABELS = ("a", "b", "tie")
THUMBS = ("up", "down")
STEP_LABELS = ("good", "neutral", "bad")
NOTES = ("annotator", "margin", "source", "time")
OPTIONAL = (*NOTES, "answer")
"""Fields that may be missing or null."""
MOST_STEPS = 1000
"""Most steps of one solution."""
MOST_RANKED = 100
"""Most completions in one ranking: the number of their pairs grows with the square."""
LARGEST = 2**53
"""Largest number: beyond it, JSON readers disagree on the value."""


class DatasetKind(StrEnum):
    """The kind of the rows of a dataset."""

    PREFERENCES = "preferences"
    THUMBS = "thumbs"
    STEPS = "steps"
    PROMPTS = "prompts"
    SFT = "sft"
    PRETRAINING = "pretraining"


def preferences(row: Row) -> Row:
    if "completions" in row or "ranks" in row:
        return _ranking(row)
    if "chosen" in row or "rejected" in row:
        _only(row, "prompt", "chosen", "rejected", *NOTES)
        sides, label = ("chosen", "rejected"), "a"
    else:
        _only(row, "prompt", "a", "b", "label", *NOTES)
        sides, label = ("a", "b"), row["label"]
        if label is not None and label not in LABELS:
            raise RowError(f"must be one of {', '.join(LABELS)}", pointer="/label", code="bad_label")
    first, second = (_completion(row[side], f"/{side}") for side in sides)
    return {"prompt": _prompt(row), "a": first, "b": second, "label": label} | _notes(row)


def thumbs(row: Row) -> Row:
    name = "label" if "label" in row else "thumb"
    _only(row, "prompt", "completion", name, "annotator", "source", "time")
    if name == "label" and type(row["label"]) is not bool:
        raise RowError("must be true or false", pointer="/label", code="bad_label")
    if name == "thumb" and row["thumb"] not in THUMBS:
        raise RowError(f"must be {' or '.join(THUMBS)}", pointer="/thumb", code="bad_label")
    thumb = row["thumb"] if name == "thumb" else THUMBS[0] if row["label"] else THUMBS[1]
    completion = _completion(row["completion"], "/completion")
    return {"prompt": _prompt(row), "completion": completion, "thumb": thumb} | _notes(row)


def steps(row: Row) -> Row:
    _only(row, "prompt", "steps", "labels", "annotator", "source", "time")
    texts = row["steps"]
    if not isinstance(texts, list) or not 1 <= len(texts) <= MOST_STEPS:
        raise RowError(f"must be a list of 1 to {MOST_STEPS} texts", pointer="/steps", code="wrong_type")
    found = [_text(text, f"/steps/{index}") for index, text in enumerate(texts)]
    return {"prompt": _prompt(row), "steps": found, "labels": _step_labels(row["labels"], len(texts))} | _notes(row)


def _step_labels(labels: Any, count: int) -> list[str]:
    """The labels as words. Raises RowError, with the place of the label, for another number than `count` and for a mix of forms."""
    if not isinstance(labels, list):
        raise RowError("must be a list with one label for each step", pointer="/labels", code="wrong_type")
    if len(labels) != count:
        detail = f"has {len(labels)} labels for {count} steps: give one label for each step"
        raise RowError(detail, pointer="/labels", code="bad_label")
    words = not isinstance(labels[0], bool)
    for index, label in enumerate(labels):
        known = isinstance(label, str) and label in STEP_LABELS if words else isinstance(label, bool)
        if not known:
            mixed = isinstance(label, bool) if words else isinstance(label, str) and label in STEP_LABELS
            detail = f"must be one of {', '.join(STEP_LABELS)}, or in the whole row true or false"
            detail = "must not mix true and false with words" if mixed else detail
            raise RowError(detail, pointer=f"/labels/{index}", code="bad_label")
    return labels if words else ["good" if label else "bad" for label in labels]


def sft(row: Row) -> Row:
    if "messages" in row:
        _only(row, "messages", "source")
        return {"messages": _conversation(row["messages"])} | _notes(row)
    _only(row, "prompt", "completion", "source")
    return {"prompt": _prompt(row), "completion": _completion(row["completion"], "/completion")} | _notes(row)


def prompts(row: Row) -> Row:
    _only(row, "prompt", "answer", "source")
    answer = {} if row.get("answer") is None else {"answer": _answer(row["answer"])}
    return {"prompt": _prompt(row)} | answer | _notes(row)


def pretraining(row: Row) -> Row:
    _only(row, "text", "source")
    return {"text": _text(row["text"], "/text")} | _notes(row)


_PARSERS: dict[DatasetKind, Callable[[Row], Row]] = {
    DatasetKind.PREFERENCES: preferences,
    DatasetKind.THUMBS: thumbs,
    DatasetKind.STEPS: steps,
    DatasetKind.SFT: sft,
    DatasetKind.PROMPTS: prompts,
    DatasetKind.PRETRAINING: pretraining,
}


def canonical(kind: DatasetKind, row: Row) -> Row:
    """The row as it is stored. Raises RowError, also where two completions are the same text.

    The trainer reads such a row and leaves it out of its training pairs; an upload does not store it.
    """
    found = _PARSERS[kind](row)
    if "completions" in found:
        _refuse_repeated(found["completions"])
    elif "a" in found and found["a"] == found["b"]:
        sides = ("chosen", "rejected") if "chosen" in row else ("a", "b")
        detail = f"{sides[0]} and {sides[1]} are the same text"
        raise RowError(detail, pointer=f"/{sides[1]}", code="identical_answers")
    return found


def prompt_of(row: Row) -> Prompt:
    """The prompt of a row that may have any other fields. Raises RowError."""
    if "prompt" not in row:
        raise RowError("the field 'prompt' is missing", pointer="/prompt", code="missing_field")
    return _prompt(row)


def _refuse_repeated(completions: list[str]) -> None:
    for index, text in enumerate(completions):
        if completions.index(text) < index:
            detail = f"is the same text as completion {completions.index(text)}"
            raise RowError(detail, pointer=f"/completions/{index}", code="repeated_answer")


def _ranking(row: Row) -> Row:
    _only(row, "prompt", "completions", "ranks", "annotator", "source", "time")
    values, ranks = row["completions"], row["ranks"]
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_RANKED:
        detail = f"must be a list of 2 to {MOST_RANKED} completions"
        raise RowError(detail, pointer="/completions", code="wrong_type")
    if ranks is not None and (not isinstance(ranks, list) or len(ranks) != len(values)):
        raise RowError("must be a list with one rank for each completion", pointer="/ranks", code="wrong_type")
    completions = [_completion(value, f"/completions/{index}") for index, value in enumerate(values)]
    for index, rank in enumerate(ranks or ()):
        if type(rank) is not int or abs(rank) > LARGEST:
            detail = "must be an integer: 1 for the best, the same number for a tie"
            raise RowError(detail, pointer=f"/ranks/{index}", code="bad_label")
    return {"prompt": _prompt(row), "completions": completions, "ranks": ranks} | _notes(row)


def _only(row: Row, *known: str) -> None:
    """Raise RowError for a field that is unknown, or required and missing."""
    least, most = _bounds(known)
    if least <= row.keys() <= most:
        return
    required = [name for name in known if name not in OPTIONAL]
    unknown = [name for name in row if name not in known]
    if missing := [name for name in required if name not in row]:
        found = f"; found {', '.join(map(repr, row))}" if unknown else ""
        detail = f"the field {missing[0]!r} is missing (needed: {', '.join(required)}){found}"
        raise RowError(detail, pointer=f"/{missing[0]}", code="missing_field")
    if unknown:
        near, advice = difflib.get_close_matches(unknown[0], known, n=1), _advice(unknown[0], known)
        hint = f"did you mean {near[0]!r}?" if near and not advice else f"known here: {', '.join(known)}{advice}"
        raise RowError(f"unknown field {unknown[0]!r}; {hint}", pointer=f"/{unknown[0]}", code="unknown_field")


def _advice(name: str, known: tuple[str, ...]) -> str:
    """The place of a verdict beside one answer; empty for other fields."""
    if not names_verdict(name) or "completion" not in known or "thumb" in known or "label" in known:
        return ""
    return (
        ". A verdict on the completion makes a row of the kind thumbs, with `thumb` up or down (`data.thumbs` of a run)"
    )


@lru_cache
def _bounds(known: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The required fields, and all known fields, of the names in `known`."""
    return frozenset(known).difference(OPTIONAL), frozenset(known)


def _prompt(row: Row) -> Prompt:
    prompt = row["prompt"]
    if isinstance(prompt, str):
        return _text(prompt, "/prompt")
    messages = _messages(prompt, "/prompt")
    if messages[-1]["role"] != "user":
        detail, pointer = "the last message of a prompt must be the user's", f"/prompt/{len(messages) - 1}/role"
        raise RowError(detail, pointer=pointer, code="bad_conversation")
    return messages


def _completion(value: Any, pointer: str) -> str:
    if isinstance(value, str):
        return _text(value, pointer)
    messages = _messages(value, pointer)
    if len(messages) != 1 or messages[0]["role"] != "assistant":
        detail = "must be exactly one assistant message; the turns before it belong into `prompt`"
        raise RowError(detail, pointer=pointer, code="several_turns")
    return messages[0]["content"]


def _conversation(value: Any) -> list[Message]:
    """The messages of a demonstration. SFT needs an assistant turn after another message."""
    messages = _messages(value, "/messages")
    if not any(message["role"] == "assistant" for message in messages[1:]):
        detail = "must have an assistant's turn after another one"
        raise RowError(detail, pointer="/messages", code="bad_conversation")
    return messages


def _messages(value: Any, pointer: str) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise RowError("must be text, or a list of messages", pointer=pointer, code="wrong_type")
    messages = [_message(message, f"{pointer}/{index}") for index, message in enumerate(value)]
    for index, message in enumerate(messages[1:], 1):
        if message["role"] == "system":
            where = f"{pointer}/{index}/role"
            raise RowError("a system message can only be the first", pointer=where, code="bad_conversation")
    return messages


def _message(value: Any, pointer: str) -> Message:
    if not isinstance(value, dict) or value.keys() != {"role", "content"}:
        detail = "a message has the fields role and content, and no others"
        raise RowError(detail, pointer=pointer, code="wrong_type")
    if value["role"] not in ROLES:
        raise RowError(f"must be one of {', '.join(ROLES)}", pointer=f"{pointer}/role", code="bad_conversation")
    return {"role": value["role"], "content": _text(value["content"], f"{pointer}/content")}


def _text(value: Any, pointer: str) -> str:
    if not isinstance(value, str):
        raise RowError("must be text", pointer=pointer, code="empty_text" if value is None else "wrong_type")
    if not value or value.isspace():
        raise RowError("is empty", pointer=pointer, code="empty_text")
    return value


def _notes(row: Row) -> Row:
    return {name: _note(value, name) for name in NOTES if (value := row.get(name)) is not None}


def _note(value: Any, name: str) -> Any:
    if name == "margin":
        return _number(value, "/margin", "must be a number")
    if name != "time" and _is_id(value):
        return str(int(value))
    if not isinstance(value, str):
        raise RowError("must be text", pointer=f"/{name}", code="wrong_type")
    return _time(value) if name == "time" else value


def _is_id(value: Any) -> bool:
    """Whether the value is a whole number. pandas writes 7.0 for 7 in a column where another row has no number."""
    return type(value) is int or (type(value) is float and value.is_integer() and abs(value) <= LARGEST)


def _time(value: str) -> str:
    """The time, which must be RFC 3339 with a zone. Without a zone the moment is ambiguous."""
    try:
        if datetime.fromisoformat(value).tzinfo is not None:
            return value
    except ValueError:
        pass  # raised below
    detail = "must be a time with its zone, as 2026-01-31T12:00:00Z"
    raise RowError(detail, pointer="/time", code="wrong_type")


def _answer(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value, "/answer")
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return _number(value, "/answer", "must be text, a number, an object or a list; write true and false as texts")


def _number(value: Any, pointer: str, otherwise: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RowError(otherwise, pointer=pointer, code="wrong_type")
    if value != value:  # NaN
        raise RowError("is not a number", pointer=pointer, code="bad_number")
    if abs(value) > LARGEST:
        raise RowError("is too large a number", pointer=pointer, code="bad_number")
    return value
