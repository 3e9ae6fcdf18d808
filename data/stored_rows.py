"""Properties of a whole file of stored rows, found in one pass over its bytes.

The pass does not parse: stored JSON has no spaces, and no unescaped quote is inside a string, so `"label":"tie"` is found by
searching for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from data.schema import NOTES

Row = dict[str, Any]


@dataclass
class Shape:
    """Properties that all rows of an export share."""

    conversational: bool = False
    """Whether any prompt is a list of messages."""
    columns: frozenset[str] = frozenset()
    left_out: int = 0
    """Number of ties and of rows without a verdict."""


_COLUMNS = (
    "prompt",
    "a",
    "b",
    "label",
    "completions",
    "ranks",
    "completion",
    "thumb",
    "messages",
    "text",
    "answer",
    *NOTES,
)
_KEYS = {name: f'"{name}":'.encode() for name in _COLUMNS}


def shape_of(open_rows: Callable[[], BinaryIO]) -> Shape:
    """The shape of the rows, from one pass over the opened file."""
    shape, missing = Shape(), dict(_KEYS)
    with open_rows() as file:
        for line in file:
            shape.conversational = shape.conversational or b'"prompt":[' in line
            for name in [name for name, key in missing.items() if key in line]:
                del missing[name]
            shape.left_out += _is_undecided(line)
    shape.columns = frozenset(_KEYS.keys() - missing.keys())
    return shape


def _is_undecided(line: bytes) -> bool:
    if b'"label":"tie"' in line or b'"label":null' in line or b'"ranks":null' in line:
        return True
    return b'"ranks":[' in line and len(set(orjson.loads(line)["ranks"])) == 1


def messages(prompt: Any) -> list[dict[str, str]]:
    """A prompt as messages: text becomes one message of the user."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
