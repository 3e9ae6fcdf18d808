"""What every container gives."""

from typing import Any

import orjson

from core.datasets.line_json import BadLine

Record = tuple[int, dict[str, Any] | BadLine, bytes | None]
"""Its number in the source, what it holds or what is wrong with it, and its bytes where it has some of its own."""


def shown(record: Record, characters: int) -> str:
    """The beginning of a record, for people."""
    _, value, raw = record
    if raw is None:
        if isinstance(value, BadLine):
            return ""
        raw = orjson.dumps(value, default=str)
    return raw[: 4 * characters].decode(errors="replace")[:characters].replace("\0", "\N{REPLACEMENT CHARACTER}")
