"""What makes two rows of preferences the same question, and what they say of it."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from core.annotation import items, shuffle
from core.models.annotation import RoundKind

Row = dict[str, Any]
Verdict = tuple[int, ...]
"""Ranks of the completions, these in the order of their texts: on whichever side they stand, it is the same verdict."""
_RANKS = {"a": (1, 2), "b": (2, 1), "tie": (1, 1)}


def question(prompt: Any, completions: Sequence[str]) -> int:
    """64 bits of a hash of the prompt and its completions, in whatever order they stand."""
    data = orjson.dumps([prompt, sorted(completions)])
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def question_of(row: Row) -> int:
    """That of a row of preferences."""
    return question(row["prompt"], row["completions"] if "completions" in row else (row["a"], row["b"]))


def verdicts(kind: RoundKind, rows: Iterable[Row]) -> dict[int, Verdict | None]:
    """Of each question that has been answered, the verdict; None where the answers contradict each other."""
    found: dict[int, Verdict | None] = {}
    for row in rows:
        if items.is_of(kind, row, labelled=True):
            key, verdict = question_of(row), _verdict(row)
            found[key] = verdict if found.get(key, verdict) == verdict else None
    return found


def _verdict(row: Row) -> Verdict:
    if "completions" not in row:
        ranks = _RANKS[row["label"]]
        return ranks if row["a"] < row["b"] else ranks[::-1]
    ranked = zip(row["completions"], shuffle.dense(row["ranks"]), strict=True)
    return tuple(rank for _, rank in sorted(ranked))
