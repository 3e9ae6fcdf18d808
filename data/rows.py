"""Typed rows, which the trainer and the data report compute with. They are made from rows of `data.schema`."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from data import schema
from data.schema import NOTES, Message, Prompt, Row

__all__ = ["Comparison", "Demonstration", "Message", "Prompt", "PromptRow", "Row", "Solution", "Thumb"]


@dataclass(frozen=True)
class Demonstration:
    """A prompt with the completion that SFT imitates."""

    prompt: Prompt
    completion: str

    def turns(self) -> Iterator["Demonstration"]:
        """One demonstration for each assistant turn, its prompt being all messages before it. This one comes last."""
        if not isinstance(self.prompt, str):
            for index, message in enumerate(self.prompt):
                if message["role"] == "assistant" and message["content"] and index > 0:
                    yield Demonstration(self.prompt[:index], message["content"])
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
    """One completion of a prompt, and whether it was rated good (`up`)."""

    prompt: Prompt
    completion: str
    up: bool
    annotator: str | None = None
    source: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Solution:
    """The steps of a response to a prompt, and the label of each: "good", "neutral" or "bad"."""

    prompt: Prompt
    steps: list[str]
    labels: list[str]
    annotator: str | None = None
    source: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class PromptRow:
    """A prompt for PPO and evaluation, and the answer that a verifiable reward expects."""

    prompt: Prompt
    answer: str | None = None


def comparisons(row: Row, number: int) -> list[Comparison]:
    """The pair of a row, or all pairs of a ranking, with `number` as their group. Empty where `label` or `ranks` is null.

    Raises RowError.
    """
    found = schema.preferences(row)
    notes = _notes(found)
    if "completions" not in found:
        label = found["label"]
        return [] if label is None else [Comparison(found["prompt"], found["a"], found["b"], label, **notes)]
    if found["ranks"] is None:
        return []
    ranked = zip(found["completions"], found["ranks"], strict=True)
    return [
        Comparison(found["prompt"], a, b, _label(rank_a, rank_b), **notes, group=number)
        for (a, rank_a), (b, rank_b) in itertools.combinations(ranked, 2)
    ]


def demonstration(row: Row) -> Demonstration:
    """The last assistant turn of `messages`, or the completion. Messages after that turn are not used. Raises RowError."""
    found = schema.sft(row)
    if "messages" not in found:
        return Demonstration(found["prompt"], found["completion"])
    messages = found["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return Demonstration(messages[:last], messages[last]["content"])


def thumb(row: Row) -> Thumb:
    """The verdict on one completion. Raises RowError."""
    found = schema.thumbs(row)
    return Thumb(found["prompt"], found["completion"], found["thumb"] == "up", **_notes(found))


def solution(row: Row) -> Solution:
    """The labelled steps of one response. Raises RowError."""
    found = schema.steps(row)
    return Solution(found["prompt"], found["steps"], found["labels"], **_notes(found))


def prompt_row(row: Row) -> PromptRow:
    """A prompt with its answer as text: a number becomes its digits, an object or a list its JSON. Raises RowError."""
    found = schema.prompts(row)
    return PromptRow(found["prompt"], None if "answer" not in found else str(found["answer"]))


def text(row: Row) -> str:
    """The text of a pretraining row. Raises RowError."""
    return str(schema.pretraining(row)["text"])


def _label(rank_a: int, rank_b: int) -> str:
    return "tie" if rank_a == rank_b else "a" if rank_a < rank_b else "b"


def _notes(found: Row) -> Row:
    return {name: found[name] for name in NOTES if name in found}
