"""What Postgres can hold: text without NUL characters and lone surrogates, numbers that are finite."""

import math
import re
from typing import Any

_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
LONGEST_MESSAGE = 2000


def storable(value: Any) -> Any:
    """A copy of a JSON value that Postgres takes: a bad character becomes �, a number that is not finite null."""
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


def message(text: str) -> str:
    """What somebody will read: storable, and of one that is very long only how it begins and how it ends."""
    half = LONGEST_MESSAGE // 2
    short = text if len(text) <= LONGEST_MESSAGE else f"{text[:half]}\n[…]\n{text[-half:]}"
    return str(storable(short))


def numbers(values: dict[str, float]) -> dict[str, float]:
    """Only the finite ones: an undefined number is a missing one."""
    return {storable(name): value for name, value in values.items() if math.isfinite(value)}


def bad_text(value: Any, pointer: str = "#") -> str | None:
    """The JSON pointer of the first text that Postgres would refuse, or None."""
    if isinstance(value, str):
        return pointer if _BAD_TEXT.search(value) else None
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(key, str) and _BAD_TEXT.search(key):
            return pointer
        if found := bad_text(item, f"{pointer}/{key}"):
            return found
    return None
