"""What a row of each kind may look like, and its canonical form (which is what the trainer reads).

preferences  {"prompt", "a", "b", "label": "a"|"b"|"tie", and optionally "annotator", "margin", "source"}
             also accepted: {"prompt", "chosen", "rejected"}
sft          {"prompt", "completion"}
prompts      {"prompt"}

A prompt is text or a list of messages and stays what it is; a completion is text or one assistant message and becomes
text.
"""

import difflib
from collections.abc import Callable
from typing import Any

from core.datasets.line_json import BadLine
from core.models.dataset import DatasetKind

Row = dict[str, Any]
ROLES = ("system", "user", "assistant")
LABELS = ("a", "b", "tie")
NOTES = ("annotator", "margin", "source")
"""May be left out, or null."""
LARGEST = 2**53
"""Beyond it, not every reader of JSON sees the same number."""


def preferences(row: Row) -> Row:
    if "chosen" in row or "rejected" in row:
        _only(row, "prompt", "chosen", "rejected", *NOTES)
        sides, label = ("chosen", "rejected"), "a"
    else:
        _only(row, "prompt", "a", "b", "label", *NOTES)
        sides, label = ("a", "b"), row["label"]
        if label not in LABELS:
            raise BadLine(f"must be one of {', '.join(LABELS)}", pointer="/label")
    first, second = (_completion(row, side) for side in sides)
    if first == second:
        raise BadLine(f"{sides[0]} and {sides[1]} are the same text", pointer=f"/{sides[1]}")
    return {"prompt": _prompt(row), "a": first, "b": second, "label": label} | _notes(row)


def sft(row: Row) -> Row:
    _only(row, "prompt", "completion", "source")
    return {"prompt": _prompt(row), "completion": _completion(row, "completion")} | _notes(row)


def prompts(row: Row) -> Row:
    _only(row, "prompt", "source")
    return {"prompt": _prompt(row)} | _notes(row)


SHAPES: dict[DatasetKind, Callable[[Row], Row]] = {
    DatasetKind.PREFERENCES: preferences,
    DatasetKind.SFT: sft,
    DatasetKind.PROMPTS: prompts,
}


def _only(row: Row, *known: str) -> None:
    """Every field is known, and every one that is not a note is there."""
    required = [name for name in known if name not in NOTES]
    unknown = [name for name in row if name not in known]
    if missing := [name for name in required if name not in row]:
        found = f"; found {', '.join(map(repr, row))}" if unknown else ""
        raise BadLine(
            f"the field {missing[0]!r} is missing (needed: {', '.join(required)}){found}", pointer=f"/{missing[0]}"
        )
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
        raise BadLine(f"unknown field {unknown[0]!r}; {hint}", pointer=f"/{unknown[0]}")


def _prompt(row: Row) -> Any:
    prompt = row["prompt"]
    if isinstance(prompt, str):
        return _text(prompt, "/prompt")
    messages = _messages(prompt, "/prompt")
    if messages[-1]["role"] != "user":
        raise BadLine("the last message of a prompt must be the user's", pointer=f"/prompt/{len(messages) - 1}/role")
    return messages


def _completion(row: Row, field: str) -> str:
    value = row[field]
    if isinstance(value, str):
        return _text(value, f"/{field}")
    messages = _messages(value, f"/{field}")
    if len(messages) != 1 or messages[0]["role"] != "assistant":
        raise BadLine(
            "must be exactly one assistant message; the turns before it belong into `prompt`", pointer=f"/{field}"
        )
    return messages[0]["content"]


def _messages(value: Any, pointer: str) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise BadLine("must be text, or a list of messages", pointer=pointer)
    messages = [_message(message, f"{pointer}/{index}") for index, message in enumerate(value)]
    for index, message in enumerate(messages[1:], 1):
        if message["role"] == "system":
            raise BadLine("a system message can only be the first", pointer=f"{pointer}/{index}/role")
    return messages


def _message(value: Any, pointer: str) -> dict[str, str]:
    if not isinstance(value, dict) or value.keys() != {"role", "content"}:
        raise BadLine("a message has the fields role and content, and no others", pointer=pointer)
    if value["role"] not in ROLES:
        raise BadLine(f"must be one of {', '.join(ROLES)}", pointer=f"{pointer}/role")
    return {"role": value["role"], "content": _text(value["content"], f"{pointer}/content")}


def _text(value: Any, pointer: str) -> str:
    if not isinstance(value, str):
        raise BadLine("must be text", pointer=pointer)
    if not value.strip():
        raise BadLine("is empty", pointer=pointer)
    return value


def _notes(row: Row) -> Row:
    return {name: _note(row[name], name) for name in NOTES if row.get(name) is not None}


def _note(value: Any, name: str) -> Any:
    if name != "margin":
        if not isinstance(value, str):
            raise BadLine("must be text", pointer=f"/{name}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLine("must be a number", pointer="/margin")
    if abs(value) > LARGEST:
        raise BadLine("is too large a number", pointer="/margin")
    return value
