"""Trees of messages as Open Assistant publishes them: a prompt with `replies`, which may have ranks and replies of their own."""

from collections.abc import Iterator, Sequence
from typing import Any

from data.errors import RowError
from data.findings import Findings
from data.formats import chat
from data.formats.base import PREFERENCES, SFT, Format, Reading, Row, Rows, Source
from data.formats.values import number, ranked
from data.schema import MOST_RANKED, DatasetKind

_DEPTH = 100
"""Most messages in a path. Deeper trees are refused."""


def _rows(record: Source, reading: Reading) -> Rows:
    root = _root(record)
    if root is None:
        raise RowError("must be a message with `text`, `role` and `replies`", pointer="/prompt", code="wrong_type")
    rows = list(_below(root, [], reading))
    if not rows and reading.kind is PREFERENCES:
        reading.note("not_compared", "no message of the tree has two answers with different ranks")
    elif not rows:
        raise RowError("has no answer of the assistant's", pointer="/prompt", code="bad_conversation")
    yield from rows


def _root(record: Source) -> dict[str, Any] | None:
    prompt = record.get("prompt")
    found = prompt if isinstance(prompt, dict) else record
    return found if isinstance(found.get("replies"), list) and "text" in found and "role" in found else None


def _below(node: dict[str, Any], before: list[chat.Message], reading: Reading) -> Iterator[Row]:
    """The rows of a message and of the replies to it. `before` are the messages above it."""
    if len(before) > _DEPTH:
        raise RowError("is nested too deeply", pointer="/prompt", code="too_deep")
    role = node.get("role") or ("assistant" if before and before[-1]["role"] == "user" else "user")
    path = [*before, *chat.messages([{"role": role, "content": node.get("text")}], "/prompt")]
    replies = [reply for reply in node.get("replies") or [] if isinstance(reply, dict) and not reply.get("deleted")]
    if path[-1]["role"] == "user" and reading.kind is PREFERENCES:
        yield from _compared(path, replies, reading)
    if reading.kind is SFT:
        best = sorted(replies, key=_rank)[:1] if path[-1]["role"] == "user" else replies
        if not best and path[-1]["role"] == "assistant":
            yield {"messages": path}
        replies = best
    for reply in replies:
        yield from _below(reply, path, reading)


def _compared(path: list[chat.Message], replies: list[dict[str, Any]], reading: Reading) -> Iterator[Row]:
    """The ranking of the replies that have a rank. Less is better, from 0 or from 1."""
    placed = [reply for reply in replies if reply.get("rank") is not None]
    scored = [(reply.get("text"), -number(reply["rank"], "prompt/replies/rank", reading)) for reply in placed]
    if len(dict.fromkeys(text for text, _ in scored)) > 1:
        yield ranked(path, scored[:MOST_RANKED], reading)


def _suggests(records: Sequence[Source]) -> DatasetKind:
    """Preferences if replies to a message have different ranks, otherwise SFT."""
    for record in records:
        try:
            root = _root(record)
            if root is not None and next(_below(root, [], Reading(PREFERENCES, Findings())), None) is not None:
                return PREFERENCES
        except RowError:
            continue  # the import reports the error
    return SFT


def _rank(reply: dict[str, Any]) -> float:
    """The place of a reply; those without a rank are the last."""
    rank = reply.get("rank")
    return float(rank) if isinstance(rank, int | float) else float("inf")


_ASKED = {"text": "Which colour is the sky?", "role": "prompter"}
_REPLIES = [
    {"text": "Blue, by day.", "role": "assistant", "rank": 0, "replies": []},
    {"text": "Green.", "role": "assistant", "rank": 1, "replies": []},
]

FORMAT = Format(
    id="message_trees",
    title="Trees of messages (Open Assistant)",
    about="A message with its `replies`, which have replies of their own. Replies with ranks (the lowest is the best) become rankings, with the messages above them as the prompt. SFT uses the best reply to each message.",
    source="https://github.com/LAION-AI/Open-Assistant/blob/main/docs/docs/data/schemas.md",
    kinds=(PREFERENCES, SFT),
    example=({"message_tree_id": "t1", "prompt": _ASKED | {"replies": _REPLIES}},),
    fields=frozenset({"prompt", "text", "role", "replies"}),
    fits=lambda record: _root(record) is not None,
    rows=_rows,
    suggests=_suggests,
    specific=90,
)
