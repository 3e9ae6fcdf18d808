"""Alpaca's way to ask: an instruction, perhaps with an input, a system message and a history."""

from typing import Any

from core.datasets.formats import chat
from core.datasets.formats.base import Source
from core.datasets.formats.values import text
from core.datasets.line_json import BadLine

FIELDS = frozenset({"instruction", "input", "system", "history"})


def asked(record: Source) -> Any:
    """The prompt: instruction and input on lines of their own, as LLaMA-Factory joins them."""
    has_instruction = isinstance(record.get("instruction"), str) and record["instruction"].strip()
    question = text(record, "instruction" if has_instruction or "input" not in record else "input")
    extra = record.get("input")
    if has_instruction and isinstance(extra, str) and extra.strip():
        question = f"{question}\n{extra}"
    before = _history(record.get("history"))
    told = chat.told(record.get("system"), question)
    if not before:
        return told
    messages = told if isinstance(told, list) else [{"role": "user", "content": told}]
    return [*messages[:-1], *before, messages[-1]]


def _history(value: Any) -> list[chat.Message]:
    """Earlier rounds: pairs of a question and its answer."""
    found: list[chat.Message] = []
    for index, pair in enumerate(value if isinstance(value, list) else []):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            detail = "must be a question and its answer"
            raise BadLine(detail, pointer=f"/history/{index}", code="wrong_type")
        found += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    return found
