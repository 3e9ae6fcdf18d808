"""Fixes that change texts and keep the row: one for each finding that has the fix `strip` (data/report/findings.py)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Change = Callable[[str], str]
Strip = Callable[[Row], Row]
WHITE_SPACE = ("prompt_whitespace", "leading_whitespace", "trailing_whitespace")
"""Codes of the fixes that are applied to every changed row, because another change may leave white space behind."""
_NESTED = 20
"""Most levels of nested special tokens that are removed. data/report/row_checks.py finds as many."""


def strips(codes: Sequence[str], tokens: Sequence[str]) -> dict[str, Strip]:
    """The change of each of these findings, in the order in which the changes are applied.

    `tokens` are the special tokens that the report found in the texts, and those that form once these are removed.
    """
    spelt = re.compile("|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))
    every: dict[str, Strip] = {
        "special_tokens": lambda row: _texts(row, lambda text: _without(spelt, text)) if tokens else row,
        "prompt_in_answer": _without_prompt,
        "prompt_whitespace": lambda row: _messages(row, str.strip),
        "leading_whitespace": lambda row: _answers(row, str.lstrip) if _is_conversation(row) else row,
        "trailing_whitespace": lambda row: _answers(row, str.rstrip),
    }
    return {code: strip for code, strip in every.items() if code in codes}


def answers_differ(row: Row) -> bool:
    """Whether the row's answers differ in more than the white space around them."""
    texts = row.get("completions") or [row[side] for side in ("a", "b") if side in row]
    return len({text.strip() for text in texts}) == len(texts)


def _without(spelt: re.Pattern[str], text: str) -> str:
    """The text without special tokens. Removing a token may form another one, so the search is repeated.

    A text with more than 20 levels of nested tokens was made to smuggle one through; the result is then empty.
    """
    for _ in range(_NESTED):
        shorter = spelt.sub("", text)
        if shorter == text:
            return text
        text = shorter
    return ""


def _is_conversation(row: Row) -> bool:
    """Whether the prompt is a conversation. After a prompt of plain text, white space joins the answer to it."""
    return "messages" in row or isinstance(row.get("prompt"), list)


def _texts(row: Row, change: Change) -> Row:
    """The row with every text changed."""
    row = _answers(_messages(row, change), change)
    return row | {"prompt": change(row["prompt"])} if isinstance(row.get("prompt"), str) else row


def _answers(row: Row, change: Change) -> Row:
    """The row with its answers changed: completions, the last assistant turn of a conversation, or a pretraining text."""
    changed: Row = {field: change(row[field]) for field in ("a", "b", "completion", "text") if field in row}
    if "completions" in row:
        changed["completions"] = [change(text) for text in row["completions"]]
    if "messages" in row:
        last = _answer_at(row["messages"])
        changed["messages"] = [
            message | {"content": change(message["content"])} if index == last else message
            for index, message in enumerate(row["messages"])
        ]
    return row | changed


def _messages(row: Row, change: Change) -> Row:
    """The row with the messages of its prompt changed. A prompt of plain text and messages after the answer are unchanged."""
    field, end = ("messages", _answer_at(row["messages"])) if "messages" in row else ("prompt", None)
    if not isinstance(row.get(field), list):
        return row
    asked = [message | {"content": change(message["content"])} for message in row[field][:end]]
    return row | {field: [*asked, *([] if end is None else row[field][end:])]}


def _without_prompt(row: Row) -> Row:
    """The row without the prompt at the beginning of its answers."""
    prompt = row["messages"][: _answer_at(row["messages"])] if "messages" in row else row["prompt"]
    asked = (prompt if isinstance(prompt, str) else prompt[-1]["content"]).strip()
    return _answers(row, lambda text: text.lstrip().removeprefix(asked))


def _answer_at(messages: Sequence[dict[str, str]]) -> int:
    """The index of the last assistant turn, which SFT learns."""
    return max(index for index, message in enumerate(messages) if message["role"] == "assistant")
