"""Fixes that change texts and keep the row: one for each finding that has the fix `strip` (data/report/findings.py)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Change = Callable[[str], str]
Strip = Callable[[Row], Row]
WHITE_SPACE = ("prompt_whitespace", "leading_whitespace", "trailing_whitespace")
"""Another change may leave some behind: these are done to every row that is changed."""
_NESTED = 20
"""How deep within each other special tokens are taken out (data/report/row_checks.py finds as many)."""


def strips(codes: Sequence[str], tokens: Sequence[str]) -> dict[str, Strip]:
    """What each of these findings wants done to a row that it names, in the order in which it has to be done.

    `tokens`: the special tokens that the report found in the texts, and those that come together once these are taken out.
    """
    spelt = re.compile("|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))
    every: dict[str, Strip] = {
        "special_tokens": lambda row: _texts(row, lambda text: _without(spelt, text)) if tokens else row,
        "prompt_in_answer": _without_prompt,
        "prompt_whitespace": lambda row: _messages(row, str.strip),
        "leading_whitespace": lambda row: _answers(row, str.lstrip) if _is_talk(row) else row,
        "trailing_whitespace": lambda row: _answers(row, str.rstrip),
    }
    return {code: strip for code, strip in every.items() if code in codes}


def told_apart(row: Row) -> bool:
    """Whether its answers differ in more than white space around them."""
    texts = row.get("completions") or [row[side] for side in ("a", "b") if side in row]
    return len({text.strip() for text in texts}) == len(texts)


def _without(spelt: re.Pattern[str], text: str) -> str:
    """What is left around a token may be one itself. A text in which they are nested deeper than anybody writes them was made
    to get one through, and nothing of it is left."""
    for _ in range(_NESTED):
        shorter = spelt.sub("", text)
        if shorter == text:
            return text
        text = shorter
    return ""


def _is_talk(row: Row) -> bool:
    """Whether it has a conversation for a prompt; behind one of plain text, white space is what joins the answer to it."""
    return "messages" in row or isinstance(row.get("prompt"), list)


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
