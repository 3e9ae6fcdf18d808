"""One row of each kind of dataset: what it may look like, and what it becomes.

preferences  {"prompt", "a", "b", "label": "a"|"b"|"tie"} or {"prompt", "chosen", "rejected"},
             each with "annotator", "margin" and "source" where there are any
             {"prompt", "completions": [k texts], "ranks": [k integers]}: 1 is the best, equal ranks are ties
sft          {"prompt", "completion"} or {"messages"}: a conversation with an assistant's turn
prompts      {"prompt"}, with "answer" (text or a number) where a reward checks one
pretraining  {"text"}

A prompt is plain text (a string) or a conversation (a list of messages); a completion is text or one assistant message.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainer.errors import DataError

Message = dict[str, str]
Prompt = str | list[Message]
Row = dict[str, Any]


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
    group: int | None = None

    @property
    def preferred(self) -> str | None:
        return {"a": self.a, "b": self.b}.get(self.label)


@dataclass(frozen=True)
class PromptRow:
    """A prompt for PPO and evaluation, and what a verifiable reward expects of its response."""

    prompt: Prompt
    answer: str | None = None


def comparisons(row: Row, number: int) -> list[Comparison]:
    """The pair of a row, or all pairs of a ranking, with the row's number for a group. Raises DataError."""
    prompt, notes = prompt_of(row), _notes(row)
    if "completions" in row or "ranks" in row:
        return _ranking(row, prompt, notes, number)
    if "label" in row:
        if row["label"] not in ("a", "b", "tie"):
            raise DataError('`label` must be "a", "b" or "tie"')
        return [Comparison(prompt, _completion(row, "a"), _completion(row, "b"), row["label"], **notes)]
    return [Comparison(prompt, _completion(row, "chosen"), _completion(row, "rejected"), "a", **notes)]


def demonstration(row: Row) -> Demonstration:
    """Of `messages`, the last assistant turn; what follows it has no answer and teaches nothing."""
    if "messages" not in row:
        return Demonstration(prompt_of(row), _completion(row, "completion"))
    messages = _conversation(row["messages"], "messages")
    last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=0)
    if last == 0 or not messages[last]["content"]:
        raise DataError("`messages` must have an assistant's turn, not empty, after another one")
    return Demonstration(messages[:last], messages[last]["content"])


def prompt_row(row: Row) -> PromptRow:
    return PromptRow(prompt_of(row), _answer(row.get("answer")))


def text(row: Row) -> str:
    value = row.get("text")
    if not isinstance(value, str) or not value:
        raise DataError("`text` must be a text, and not empty")
    return value


def prompt_of(row: Row) -> Prompt:
    value = row.get("prompt")
    if isinstance(value, str) and value:
        return value
    return _conversation(value, "prompt")


def _ranking(row: Row, prompt: Prompt, notes: Row, number: int) -> list[Comparison]:
    values, ranks = row.get("completions"), row.get("ranks")
    if not isinstance(values, list) or not isinstance(ranks, list) or not len(values) == len(ranks) >= 2:
        raise DataError("`completions` and `ranks` must be lists of the same length, two at least")
    if not all(type(rank) is int for rank in ranks):
        raise DataError("`ranks` must be integers: 1 for the best, the same number for a tie")
    if "margin" in notes:
        raise DataError("`margin` belongs to a pair, not to a ranking")
    completions = [_completion({"completions": value}, "completions") for value in values]
    return [
        Comparison(prompt, a, b, _label(rank_a, rank_b), **notes, group=number)
        for (a, rank_a), (b, rank_b) in itertools.combinations(zip(completions, ranks, strict=True), 2)
    ]


def _label(rank_a: int, rank_b: int) -> str:
    return "tie" if rank_a == rank_b else "a" if rank_a < rank_b else "b"


def _notes(row: Row) -> Row:
    """Who labelled the pair, how much better the preferred side is, and where the pair is from; null says nothing."""
    notes = {name: row[name] for name in ("annotator", "margin", "source") if row.get(name) is not None}
    for name, value in notes.items():
        if name == "margin" and not _is_number(value):
            raise DataError("`margin` must be a finite number")
        if name != "margin" and not isinstance(value, str):
            raise DataError(f"`{name}` must be a text")
    return notes


def _answer(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not _is_number(value):
        raise DataError("`answer` must be a text or a finite number")
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _completion(row: Row, field: str) -> str:
    value = row.get(field)
    if isinstance(value, list) and len(value) == 1 and _is_message(value[0]) and value[0]["role"] == "assistant":
        value = value[0]["content"]
    if isinstance(value, str) and value:
        return value
    raise DataError(f"`{field}` must be a text, or one assistant message, and not empty")


def _conversation(value: Any, field: str) -> list[Message]:
    if isinstance(value, list) and value and all(_is_message(message) for message in value):
        return [{"role": m["role"], "content": m["content"]} for m in value]
    raise DataError(f"`{field}` must be a text, or a list of messages with `role` and `content`, and not empty")


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and isinstance(value.get("content"), str)
