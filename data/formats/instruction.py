"""Alpaca's prompts: an instruction, and optionally an input, a system message and a history.

LLaMA-Factory names the instruction and its input `prompt` and `query`.
"""

from typing import Any

from data.errors import RowError
from data.formats import chat
from data.formats.base import Source
from data.formats.values import text
from data.names import INPUTS

_SHORT = 20
"""Most characters of an input that a prompt may contain by chance. A longer one was included on purpose."""


def prompt(record: Source, name: str, inputs: tuple[str, ...] = INPUTS) -> Any:
    """The prompt in this column: messages unchanged, a text with its input, history and system message."""
    return asked(record, name, inputs) if isinstance(record.get(name), str) else chat.prompt(record, name)


def asked(record: Source, name: str = "instruction", inputs: tuple[str, ...] = INPUTS) -> Any:
    """The prompt: instruction and input on lines of their own, as LLaMA-Factory joins them."""
    beside = next((other for other in inputs if other != name and _has_text(record, other)), None)
    if beside is not None and not _has_text(record, name):
        name, beside = beside, None
    question = text(record, name)
    if beside is not None and not (name == "prompt" and len(record[beside]) > _SHORT and record[beside] in question):
        question = f"{question}\n{record[beside]}"
    before = _history(record.get("history"))
    asked_with_system = chat.with_system(record.get("system"), question)
    if not before:
        return asked_with_system
    messages = (
        asked_with_system if isinstance(asked_with_system, list) else [{"role": "user", "content": asked_with_system}]
    )
    return [*messages[:-1], *before, messages[-1]]


def several_outputs(record: Source) -> bool:
    """Whether `output` holds two answers or more."""
    output = record.get("output")
    return isinstance(output, list) and len(output) > 1


def _has_text(record: Source, name: str) -> bool:
    return isinstance(record.get(name), str) and bool(record[name].strip())


def _history(value: Any) -> list[chat.Message]:
    """Earlier rounds: pairs of a question and its answer."""
    messages: list[chat.Message] = []
    for index, pair in enumerate(value if isinstance(value, list) else []):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            detail = "must be a question and its answer"
            raise RowError(detail, pointer=f"/history/{index}", code="wrong_type")
        messages += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    return messages
