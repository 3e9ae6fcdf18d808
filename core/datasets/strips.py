"""Fixes that change texts and keep the row: one for each finding that has the fix `strip` (trainer/report/findings.py)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Change = Callable[[str], str]
Strip = Callable[[Row], Row]


def strips(codes: Sequence[str], tokens: Sequence[str]) -> dict[str, Strip]:
    """What each of these findings wants done to a row that it names, in the order in which it has to be done.

    `tokens`: the special tokens that the report found in the texts.
    """
    spelt = re.compile("|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))
    every: dict[str, Strip] = {
        "special_tokens": lambda row: _texts(row, lambda text: spelt.sub("", text)) if tokens else row,
        "prompt_in_answer": _without_prompt,
        "prompt_whitespace": lambda row: _messages(row, str.strip),
        "leading_whitespace": lambda row: _answers(row, str.lstrip),
        "trailing_whitespace": lambda row: _answers(row, str.rstrip),
    }
    return {code: strip for code, strip in every.items() if code in codes}


def _texts(row: Row, change: Change) -> Row:
    """Every text of the row."""
    row = _answers(_messages(row, change), change)
    return row | {"prompt": change(row["prompt"])} if isinstance(row.get("prompt"), str) else row


def _answers(row: Row, change: Change) -> Row:
    """Its completions; of a conversation, what the assistant says last; a text to pretrain on."""
    changed: Row = {field: change(row[field]) for field in ("a", "b", "completion", "text") if field in row}
    if "completions" in row:
        changed["completions"] = [change(text) for text in row["completions"]]
    if "messages" in row:
        last = _answer_at(row["messages"])
        changed["messages"] = [
            message | {"content": change(message["content"])} if at == last else message
            for at, message in enumerate(row["messages"])
        ]
    return row | changed


def _messages(row: Row, change: Change) -> Row:
    """The messages of its prompt; a prompt that is plain text stays, and so does what is behind the answer."""
    field, end = ("messages", _answer_at(row["messages"])) if "messages" in row else ("prompt", None)
    if not isinstance(row.get(field), list):
        return row
    asked = [message | {"content": change(message["content"])} for message in row[field][:end]]
    return row | {field: [*asked, *([] if end is None else row[field][end:])]}


def _without_prompt(row: Row) -> Row:
    """Answers that begin with the prompt, without it."""
    prompt = row["messages"][: _answer_at(row["messages"])] if "messages" in row else row["prompt"]
    asked = (prompt if isinstance(prompt, str) else prompt[-1]["content"]).strip()
    return _answers(row, lambda text: text.lstrip().removeprefix(asked))


def _answer_at(messages: Sequence[dict[str, str]]) -> int:
    """Where the last assistant's turn is, which is what SFT learns."""
    return max(at for at, message in enumerate(messages) if message["role"] == "assistant")
