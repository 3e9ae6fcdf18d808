"""Makes the items of a round, from rows of a dataset or from prompts with the completions of policies."""

import hashlib
import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from core.annotation import rounds, shuffle
from core.annotation.spec import MOST_RANKED
from core.models import AnnotationItem
from core.models.annotation import RoundKind, RoundStatus
from core.models.base import new_id
from data.parse import bad_text

Row = dict[str, Any]
Verdict = tuple[int, ...]
"""Ranks of the completions, in the alphabetical order of their texts, so that swapped sides give the same verdict."""
_RANKS = {"a": (1, 2), "b": (2, 1), "tie": (1, 1)}
MOST_GOLD = 500
_BATCH = 500


@dataclass(frozen=True)
class ItemDraft:
    """An item that is not stored yet. `number` is its position in the round, from 1; `row` is its row in the source."""

    number: int
    prompt: Any
    completions: Sequence[str]
    policies: Sequence[int] | None = None
    finished: Sequence[bool] | None = None
    gold: Row | None = None
    source: str | None = None
    row: int | None = None


def draw(rows: Iterable[tuple[int, Row]], key: Callable[[int, Row], float | None], limit: int) -> list[int]:
    """The numbers of at most `limit` rows with the smallest keys, ordered by key.

    Rows without a key are left out. Among rows with equal keys, the first one counts. Memory holds at most `limit` numbers.
    """
    largest_first: list[tuple[float, int]] = []
    keys: set[float] = set()
    for number, row in rows:
        value = key(number, row)
        if value is None or value in keys:
            continue
        heapq.heappush(largest_first, (-value, number))
        keys.add(value)
        if len(largest_first) > limit:
            keys.discard(-heapq.heappop(largest_first)[0])
    return [number for _, number in sorted(largest_first, reverse=True)]


def fits_round(kind: RoundKind, row: Row, *, labelled: bool | None) -> bool:
    """Whether a row of preferences can be an item of a round of this kind. `labelled` None: with or without a label."""
    if kind is RoundKind.RANKING:
        fits, label = "completions" in row and len(row["completions"]) <= MOST_RANKED, row.get("ranks")
    else:
        fits, label = "label" in row, row.get("label")
    return fits and labelled in (None, label is not None)


def item_from_row(number: int, position: int, row: Row, *, gold: bool = False) -> ItemDraft:
    """The item of a row for which `fits_round` is true. With `gold`, the label of the row is the known answer."""
    if "completions" in row:
        completions, ranks = row["completions"], row["ranks"]
        known = ranks and {"ranks": shuffle.dense(ranks)}
    else:
        completions, known = [row["a"], row["b"]], {"choice": row["label"]}
    answer = known if gold else None
    return ItemDraft(position, row["prompt"], completions, gold=answer, source=row.get("source"), row=number)


def prompt_of(row: Row) -> Any:
    """The prompt of a row of prompts, preferences, thumbs, steps or sft.

    For a conversation, the messages before its last answer; None if they do not end with the user.
    """
    if "messages" not in row:
        return row["prompt"]
    messages = row["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return messages[:last] if last and messages[last - 1]["role"] == "user" else None


def prompt_key(seed: int, row: Row) -> float | None:
    """The key of a row for `draw`. Equal prompts have equal keys; a row without a prompt has none."""
    prompt = prompt_of(row)
    return None if prompt is None else shuffle.sample_key(seed, orjson.dumps(prompt).decode())


def item_from_completions(
    position: int, prompt: Any, number: int, texts: Sequence[str], policies: Sequence[int], finished: Sequence[bool]
) -> ItemDraft | None:
    """The item of a prompt with sampled completions; None if fewer than two different ones remain.

    Completions that are empty, or that PostgreSQL cannot store, are left out, and so are repeated ones.
    """
    kept = [
        index for index, text in enumerate(texts) if text.strip() and not bad_text(text) and text not in texts[:index]
    ]
    if len(kept) < 2:
        return None
    own = [texts[at] for at in kept]
    return ItemDraft(position, prompt, own, [policies[at] for at in kept], [finished[at] for at in kept], row=number)


def without_gaps(drafts: Iterable[ItemDraft | None]) -> list[ItemDraft]:
    """The drafts without None, ordered and numbered from 1 without gaps. Gold questions get the numbers after the last."""
    kept = sorted((draft for draft in drafts if draft is not None), key=lambda draft: draft.number)
    return [replace(draft, number=at) for at, draft in enumerate(kept, 1)]


def gold_needed(share: float, plain: int) -> int:
    """The number of gold questions for `plain` other items, so that gold questions have this share of the sum."""
    return min(MOST_GOLD, math.ceil(share / (1 - share) * plain))


def store(session: Session, round_id: str, drafts: Iterable[ItemDraft], left_out: int) -> int:
    """Store the items and open the round. Returns their number; 0 if the round is no longer preparing."""
    round_ = rounds.locked(session, round_id)
    if round_.status != RoundStatus.PREPARING:
        return 0
    session.execute(delete(AnnotationItem).filter_by(round_id=round_id))
    stored = 0
    for batch in _batches(drafts):
        session.execute(insert(AnnotationItem), [_values(round_id, draft) for draft in batch])
        stored += len(batch)
    round_.status, round_.left_out = RoundStatus.OPEN.value, left_out
    rounds.unpin(session, round_id, "items")
    session.flush()
    return stored


def _batches(drafts: Iterable[ItemDraft]) -> Iterator[list[ItemDraft]]:
    rest = iter(drafts)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _values(round_id: str, draft: ItemDraft) -> Row:
    fields = ("number", "prompt", "completions", "policies", "finished", "gold", "source", "row")
    return {"id": new_id("item"), "round_id": round_id, "answers": 0} | {name: getattr(draft, name) for name in fields}


def question_hash(prompt: Any, completions: Sequence[str]) -> int:
    """A 64-bit hash of the prompt and the completions. Their order does not matter."""
    data = orjson.dumps([prompt, sorted(completions)])
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def row_question_hash(row: Row) -> int:
    """The `question_hash` of a row of preferences."""
    return question_hash(row["prompt"], row["completions"] if "completions" in row else (row["a"], row["b"]))


def verdicts(kind: RoundKind, rows: Iterable[Row]) -> dict[int, Verdict | None]:
    """The verdict on each labelled question, by `question_hash`; None for a question with different verdicts."""
    found: dict[int, Verdict | None] = {}
    for row in rows:
        if fits_round(kind, row, labelled=True):
            key, verdict = row_question_hash(row), _verdict(row)
            found[key] = verdict if found.get(key, verdict) == verdict else None
    return found


def _verdict(row: Row) -> Verdict:
    if "completions" not in row:
        ranks = _RANKS[row["label"]]
        return ranks if row["a"] < row["b"] else ranks[::-1]
    ranked = zip(row["completions"], shuffle.dense(row["ranks"]), strict=True)
    return tuple(rank for _, rank in sorted(ranked))
