"""Text that JSON, Parquet and PostgreSQL can all hold: no NUL characters, no lone surrogates."""

import math
import re
from typing import Any

_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(value: Any) -> Any:
    """A copy of a JSON value that PostgreSQL accepts: bad characters become U+FFFD, non-finite numbers null."""
    match value:
        case str():
            return _BAD_TEXT.sub(REPLACEMENT, value)
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {storable(key): storable(item) for key, item in value.items()}
        case list():
            return [storable(item) for item in value]
    return value


def bad_text(value: Any, pointer: str = "#") -> str | None:
    """The JSON pointer of the first text that PostgreSQL would refuse, or None."""
    if isinstance(value, str):
        return pointer if _BAD_TEXT.search(value) else None
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(key, str) and _BAD_TEXT.search(key):
            return pointer
        if found := bad_text(item, f"{pointer}/{key}"):
            return found
    return None
