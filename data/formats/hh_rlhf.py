"""Anthropic's hh-rlhf: whole dialogues as text, in turns that begin with a blank line and Human: or Assistant:."""

import re
from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import PREFERENCES, Format, Reading, Rows, Source, has
from data.formats.chat import Message
from data.formats.values import given, text
from data.schema import NOTES

# Only at the beginning of a paragraph: "Human:" inside a sentence is text.
_TURN = re.compile(r"\n\n(Human|Assistant):(?=\s|\Z)")
_OPENS = re.compile(r"\s*Human:\s")
_QUESTION, _ANSWER = "\n\nHuman:", "\n\nAssistant:"
_ROLES = {"Human": "user", "Assistant": "assistant"}


def turns(dialogue: str, pointer: str) -> list[Message]:
    """The messages of a dialogue. Consecutive paragraphs of one speaker are one message. Raises RowError."""
    return _joined(_marked(dialogue, pointer))


def _marked(dialogue: str, pointer: str) -> list[Message]:
    """The paragraphs of a dialogue, one message each. Raises RowError."""
    if not dialogue.strip():
        raise RowError("is empty", pointer=pointer, code="empty_text")
    before, *parts = _TURN.split("\n\n" + dialogue.lstrip())
    if before or not parts:
        raise RowError("does not begin with a turn of Human:", pointer=pointer, code="bad_conversation")
    named = zip(parts[::2], parts[1::2], strict=True)
    return [{"role": _ROLES[name], "content": content.strip()} for name, content in named]


def _joined(marked: list[Message]) -> list[Message]:
    messages: list[Message] = []
    for turn in marked:
        if messages and messages[-1]["role"] == turn["role"]:
            content = f"{messages[-1]['content']}\n\n{turn['content']}".strip()
            messages[-1] = {"role": turn["role"], "content": content}
        else:
            messages.append(turn)
    return messages


def prompt_of(dialogue: str, pointer: str) -> list[Message]:
    """The messages of a prompt whose answer is in another column."""
    prompt = turns(dialogue, pointer)
    return prompt[:-1] if prompt[-1] == {"role": "assistant", "content": ""} else prompt


def waits(prompt: Any) -> bool:
    """Whether the prompt is a dialogue that ends with the mark of an assistant turn."""
    return isinstance(prompt, str) and _OPENS.match(prompt) is not None and prompt.rstrip().endswith(_ANSWER)


def _rows(record: Source, reading: Reading) -> Rows:
    notes = given(record, reading, *NOTES)
    if isinstance(record.get("prompt"), str):  # as Dahoas/full-hh-rlhf has it: the answers by themselves
        yield {
            "prompt": prompt_of(record["prompt"], "/prompt"),
            "chosen": text(record, "chosen").strip(),
            "rejected": text(record, "rejected").strip(),
        } | notes
        return
    prompt, a, b = _parted(text(record, "chosen"), text(record, "rejected"))
    yield {"prompt": prompt, "chosen": a, "rejected": b} | notes


def _parted(chosen: str, rejected: str) -> tuple[list[Message], str, str]:
    """The common messages of two dialogues, and their last answers. Raises RowError."""
    before, _, a = chosen.rpartition(_ANSWER)
    other, _, b = rejected.rpartition(_ANSWER)
    last = all(_QUESTION not in side and (not side or side[0].isspace()) for side in (a, b))
    if before == other and last:  # nearly always: what they share is read once
        prompt = turns(before, "/chosen")
        if prompt[-1]["role"] == "user":
            return prompt, a.strip(), b.strip()
    first, second = _last(chosen, "/chosen"), _last(rejected, "/rejected")
    # Before paragraphs are joined: an earlier one of the assistant's that differs would look like part of the answer.
    chat.shared(_joined(first[:-1]), _joined(second[:-1]), "/rejected")
    prompt = chat.shared(_joined(first)[:-1], _joined(second)[:-1], "/rejected")
    return prompt, _joined(first)[-1]["content"], _joined(second)[-1]["content"]


def _last(dialogue: str, pointer: str) -> list[Message]:
    """The paragraphs with text, and the last one. Raises RowError if that is not the assistant's."""
    found = _marked(dialogue, pointer)
    if found[-1]["role"] != "assistant":
        raise RowError("ends without an answer of the assistant", pointer=pointer, code="several_turns")
    return [turn for turn in found[:-1] if turn["content"]] + found[-1:]


def _fits(record: Source) -> bool:
    if not has(record, "chosen", "rejected"):
        return False
    filled = next((side for side in (record["chosen"], record["rejected"]) if isinstance(side, str) and side), None)
    if record.get("prompt") is not None:
        return filled is not None and waits(record["prompt"])
    return filled is not None and _OPENS.match(filled) is not None


FORMAT = Format(
    id="hh_rlhf",
    title="Anthropic hh-rlhf",
    about="Two dialogues as text that part at the last answer; what comes before it is the prompt, as messages.",
    source="https://huggingface.co/datasets/Anthropic/hh-rlhf",
    kinds=(PREFERENCES,),
    sides_named=True,
    example=(
        {
            "chosen": "\n\nHuman: Which colour is the sky?\n\nAssistant: Blue, by day.",
            "rejected": "\n\nHuman: Which colour is the sky?\n\nAssistant: Green.",
        },
    ),
    fields=frozenset({"prompt", "chosen", "rejected", *NOTES}),
    fits=_fits,
    rows=_rows,
    specific=80,
)
