"""What every container gives."""

import json
from typing import Any

from core.datasets.line_json import BadLine

Record = tuple[int, dict[str, Any] | BadLine, bytes | None]
"""Its number in the source, what it holds or what is wrong with it, and its bytes where it has some of its own."""


def shown(record: Record, characters: int) -> str:
    """The beginning of a record, for people."""
    _, value, raw = record
    if raw is not None:
        text = raw[: 4 * characters].decode(errors="replace")
    else:
        text = "" if isinstance(value, BadLine) else compact(value)
    return text[:characters].replace("\0", "\N{REPLACEMENT CHARACTER}")


def compact(value: Any) -> str:
    """As JSON on one line, whatever it is."""
    return json.dumps(value, ensure_ascii=False, default=str)
