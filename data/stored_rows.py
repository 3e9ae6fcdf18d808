"""Properties of a whole file of stored rows, found in one pass over its bytes.

The pass does not parse: stored JSON has no spaces, and no unescaped quote is inside a string, so `"label":"tie"` is found by
searching for it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson

from data.schema import NOTES

Row = dict[str, Any]


@dataclass
class ExportShape:
    """Properties that all rows of an export share."""

    conversational: bool = False
    """Whether any prompt is a list of messages."""
    columns: frozenset[str] = frozenset()
    counts: Counter[str] = field(default_factory=Counter)
    """Number of `ties`, of `unlabelled` rows, of `rankings` with a better answer, and of the rows that have each note or an answer."""


_COLUMNS = (
    "prompt",
    "a",
    "b",
    "label",
    "completions",
    "ranks",
    "completion",
    "thumb",
    "steps",
    "labels",
    "messages",
    "text",
    "answer",
    *NOTES,
)
_KEYS = {name: f'"{name}":'.encode() for name in _COLUMNS}


_COUNTED = {name: _KEYS[name] for name in (*NOTES, "answer")}


def shape_of(open_rows: Callable[[], BinaryIO]) -> ExportShape:
    """The shape of the rows, from one pass over the opened file."""
    shape, missing = ExportShape(), dict(_KEYS)
    with open_rows() as file:
        for line in file:
            shape.conversational = shape.conversational or b'"prompt":[' in line
            for name in [name for name, key in missing.items() if key in line]:
                del missing[name]
            shape.counts.update(name for name, key in _COUNTED.items() if name not in missing and key in line)
            if (verdict := _verdict(line)) is not None:
                shape.counts[verdict] += 1
    shape.columns = frozenset(_KEYS.keys() - missing.keys())
    return shape


def _verdict(line: bytes) -> str | None:
    """The counted property of the verdict in a row, or None for a pair with a better answer and for any other row."""
    if b'"label":"tie"' in line:
        return "ties"
    if b'"label":null' in line or b'"ranks":null' in line:
        return "unlabelled"
    if b'"ranks":[' in line:
        return "ties" if len(set(orjson.loads(line)["ranks"])) == 1 else "rankings"
    return None


def messages(prompt: Any) -> list[dict[str, str]]:
    """A prompt as messages: text becomes one message of the user."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
