"""One row of each kind of dataset: what it may look like, and what it becomes.

preferences  {"prompt", "a", "b", "label": "a"|"b"|"tie"} or {"prompt", "chosen", "rejected"},
             each with "annotator", "margin", "source" and "time" where there are any
             {"prompt", "completions": [k texts], "ranks": [k integers]}: 1 is the best, equal ranks are ties
             "label" or "ranks" null: nobody has compared them yet, and they teach nothing
sft          {"prompt", "completion"} or {"messages"}: a conversation with an assistant's turn
thumbs       {"prompt", "completion", "thumb": "up"|"down"} or, as TRL has it, "label": true|false,
             each with "annotator", "source" and "time" where there are any
prompts      {"prompt"}, with "answer" (text, a number, an object or a list) where a reward checks one
pretraining  {"text"}

A prompt is plain text (a string) or a conversation (a list of messages, the last one the user's); a completion is text or
one assistant message. Fields that are not known are refused, as on upload (data/schema.py): a note that is
misspelt would be lost without a word.
"""

import difflib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from data.errors import RowError

Message = dict[str, str]
Prompt = str | list[Message]
Row = dict[str, Any]
ROLES = ("system", "user", "assistant")
_NOTES = ("annotator", "margin", "source", "time")
_OPTIONAL = (*_NOTES, "answer")
_MOST_RANKED = 100
"""Completions of one ranking: their pairs are compared, which grow with the square."""
_LARGEST = 2**53
"""Beyond it, not every reader of JSON sees the same number."""


@dataclass(frozen=True)
class Demonstration:
    """A prompt with the completion that SFT imitates."""

    prompt: Prompt
    completion: str

    def turns(self) -> Iterator["Demonstration"]:
        """Each assistant turn of the conversation with all that came before it as its prompt; this one is the last."""
        if not isinstance(self.prompt, str):
            for at, message in enumerate(self.prompt):
                if message["role"] == "assistant" and message["content"] and at > 0:
                    yield Demonstration(self.prompt[:at], message["content"])
        yield self


@dataclass(frozen=True)
class Comparison:
    """Two completions of one prompt. `label` is "a" or "b" (the preferred one) or "tie".

    `group` is the same number for all pairs of one ranking, and None for a pair of its own.
    """

    prompt: Prompt
    a: str
    b: str
    label: str
    annotator: str | None = None
    margin: float | None = None
    source: str | None = None
    time: str | None = None
    group: int | None = None

    @property
    def preferred(self) -> str | None:
        return {"a": self.a, "b": self.b}.get(self.label)


@dataclass(frozen=True)
class Thumb:
    """One completion of a prompt, and whether it was found good (`up`)."""

    prompt: Prompt
    completion: str
    up: bool
    annotator: str | None = None
    source: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class PromptRow:
    """A prompt for PPO and evaluation, and what a verifiable reward expects of its response."""

    prompt: Prompt
    answer: str | None = None


def comparisons(row: Row, number: int) -> list[Comparison]:
    """The pair of a row, or all pairs of a ranking, with the row's number for a group; nothing where nobody has compared
    them yet. Raises RowError."""
    ranked = "completions" in row or "ranks" in row
    sides = ("a", "b", "label") if "label" in row else ("chosen", "rejected")
    _only(row, "prompt", *(("completions", "ranks") if ranked else sides), *_NOTES)
    prompt, notes = prompt_of(row), _notes(row)
    if ranked:
        return _ranking(row, prompt, notes, number)
    if "label" in row:
        label = row["label"]
        if label not in ("a", "b", "tie", None):
            raise RowError('`label` must be "a", "b" or "tie"')
        pair = Comparison(prompt, _completion(row, "a"), _completion(row, "b"), label or "tie", **notes)
        return [] if label is None else [pair]
    return [Comparison(prompt, _completion(row, "chosen"), _completion(row, "rejected"), "a", **notes)]


def demonstration(row: Row) -> Demonstration:
    """Of `messages`, the last assistant turn; what follows it has no answer and teaches nothing."""
    if "messages" not in row:
        _only(row, "prompt", "completion", "source")
        return Demonstration(prompt_of(row), _completion(row, "completion"))
    _only(row, "messages", "source")
    messages = _conversation(row["messages"], "messages")
    last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=0)
    if last == 0 or not messages[last]["content"]:
        raise RowError("`messages` must have an assistant's turn, not empty, after another one")
    return Demonstration(messages[:last], messages[last]["content"])


def thumb(row: Row) -> Thumb:
    """The verdict on one completion. Raises RowError."""
    if "label" in row:
        _only(row, "prompt", "completion", "label", "annotator", "source", "time")
        if type(row["label"]) is not bool:
            raise RowError("`label` must be true or false")
        up = row["label"]
    else:
        _only(row, "prompt", "completion", "thumb", "annotator", "source", "time")
        if row.get("thumb") not in ("up", "down"):
            raise RowError('`thumb` must be "up" or "down"')
        up = row["thumb"] == "up"
    return Thumb(prompt_of(row), _completion(row, "completion"), up, **_notes(row))


def prompt_row(row: Row) -> PromptRow:
    _only(row, "prompt", "answer", "source")
    return PromptRow(prompt_of(row), _answer(row.get("answer")))


def text(row: Row) -> str:
    _only(row, "text", "source")
    value = row.get("text")
    if not _is_text(value):
        raise RowError("`text` must be a text, and not empty")
    return str(value)


def prompt_of(row: Row) -> Prompt:
    value = row.get("prompt")
    if _is_text(value):
        return str(value)
    messages = _conversation(value, "prompt")
    if messages[-1]["role"] != "user":
        raise RowError(f"the last message of a prompt must be the user's, not the {messages[-1]['role']}'s")
    return messages


def _only(row: Row, *known: str) -> None:
    """Refuse a field that is not known here. Where one that is needed is missing, that is said elsewhere, unless it is
    there misspelt."""
    unknown = next((name for name in row if name not in known), None)
    if unknown is None:
        return
    if near := difflib.get_close_matches(unknown, known, n=1):
        raise RowError(f"unknown field {unknown!r}; did you mean {near[0]!r}?")
    if all(name in row for name in known if name not in _OPTIONAL):
        raise RowError(f"unknown field {unknown!r}; known here: {', '.join(known)}")


def _ranking(row: Row, prompt: Prompt, notes: Row, number: int) -> list[Comparison]:
    values, ranks = row.get("completions"), row.get("ranks")
    waiting = "ranks" in row and ranks is None
    if waiting and isinstance(values, list):
        ranks = [1] * len(values)  # none that counts, so that everything else is looked at
    if not isinstance(values, list) or not isinstance(ranks, list) or not len(values) == len(ranks) >= 2:
        raise RowError("`completions` and `ranks` must be lists of the same length, two at least")
    if len(values) > _MOST_RANKED:
        raise RowError(f"`completions` may be {_MOST_RANKED} at most: all their pairs are compared")
    if not all(type(rank) is int for rank in ranks):
        raise RowError("`ranks` must be integers: 1 for the best, the same number for a tie")
    if "margin" in notes:
        raise RowError("`margin` belongs to a pair, not to a ranking")
    completions = [_completion({"completions": value}, "completions") for value in values]
    if waiting:
        return []
    return [
        Comparison(prompt, a, b, _label(rank_a, rank_b), **notes, group=number)
        for (a, rank_a), (b, rank_b) in itertools.combinations(zip(completions, ranks, strict=True), 2)
    ]


def _label(rank_a: int, rank_b: int) -> str:
    return "tie" if rank_a == rank_b else "a" if rank_a < rank_b else "b"


def _notes(row: Row) -> Row:
    """Who labelled the pair and when, how much better the preferred side is, and where the pair is from; null says nothing."""
    notes = {name: row[name] for name in _NOTES if row.get(name) is not None}
    for name, value in notes.items():
        if name == "margin" and not _is_number(value):
            raise RowError("`margin` must be a finite number, and not beyond 2^53")
        if name != "margin" and not isinstance(value, str):
            raise RowError(f"`{name}` must be a text")
    return notes


def _answer(value: Any) -> str | None:
    """The text that rewards compare with: an object or a list becomes its JSON, a number its digits."""
    if value is None or _is_text(value):
        return None if value is None else str(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if not _is_number(value):
        raise RowError(
            "`answer` must be a text, a finite number, an object or a list, not empty and not beyond 2^53; write true and "
            "false as texts"
        )
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST  # and so is no NaN


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _completion(row: Row, field: str) -> str:
    value = row.get(field)
    if isinstance(value, list) and len(value) == 1 and _is_message(value[0]) and value[0]["role"] == "assistant":
        value = value[0]["content"]
    if _is_text(value):
        return str(value)
    raise RowError(f"`{field}` must be a text, or one assistant message, and not empty")


def _conversation(value: Any, field: str) -> list[Message]:
    if not isinstance(value, list) or not value or not all(_is_message(message) for message in value):
        raise RowError(f"`{field}` must be a text, or a list of messages with `role` and `content`, and not empty")
    for at, message in enumerate(value):
        if others := sorted(message.keys() - {"role", "content"}):
            raise RowError(f"`{field}`: a message has the fields role and content, and no others; found {others[0]!r}")
        if message["role"] not in ROLES:
            raise RowError(f"`{field}`: a role must be one of {', '.join(ROLES)}; found {message['role']!r}")
        if message["role"] == "system" and at > 0:
            raise RowError(f"`{field}`: a system message can only be the first")
        if not _is_text(message["content"]):
            raise RowError(f"`{field}`: the content of message {at + 1} is empty")
    return [{"role": m["role"], "content": m["content"]} for m in value]


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)
