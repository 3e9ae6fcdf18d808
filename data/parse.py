"""One JSON record: strictly parsed, with the place of what is wrong.

The quick path is orjson. It takes the last of two equal keys without a word, so the keys in the text are counted and
compared with the keys of what came out; only where they differ does the slow path look which key it is.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from data.errors import RowError
from data.limits import Limits
from data.text import bad_text


def parse(line: bytes, limits: Limits, nan: Callable[[], None] | None = None) -> dict[str, Any]:
    """The object on this line, or RowError. A list of messages is an object that holds them in `messages`. `nan` hears of each NaN, which is then null, as where pandas wrote the file."""
    if len(line) > limits.line_bytes:
        raise RowError(f"is longer than {limits.line_bytes} bytes", code="line_too_long")
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = _parse_slowly(line, nan)
        count_keys(value, limits.depth)
    else:
        if (
            type(value) not in (dict, list)
            or not _every_key_once(line, count_keys(value, limits.depth))
            or b"\\u0000" in line
        ):
            value = _parse_slowly(line, nan)
    row = _object(value)
    if len(row) > limits.columns:
        raise RowError(f"has {len(row)} fields; {limits.columns} are allowed", code="too_many_fields")
    return row


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and is_talk(value):
        return {"messages": value}
    hint = "; an array is read only if it is a conversation: a list of messages" if isinstance(value, list) else ""
    raise RowError(f"must be a JSON object{hint}", column=1, code="not_an_object")


_MESSAGES = (("role", "content"), ("from", "value"))
"""What a message has, as OpenAI and as ShareGPT name it."""


def is_talk(messages: list[Any]) -> bool:
    """Whether a list holds messages, and nothing else."""
    return bool(messages) and all(map(is_message, messages))


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(role in value and content in value for role, content in _MESSAGES)


_SPACED = re.compile(rb'"[ \t\r\n]+:')
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"([ \t\r\n]*+:)?', re.DOTALL)


def _every_key_once(text: bytes, keys: int) -> bool:
    """Whether valid JSON names no key twice, `keys` being those that were left when it was parsed.

    A quote before a colon ends a key or stands, escaped, inside a string. So where no space comes between the two, counting
    the pairs never counts too few, and equality is proof. Otherwise each string is looked at.
    """
    if text.count(b'":') == keys and _SPACED.search(text) is None:
        return True
    return sum(1 for string in _STRING.finditer(text) if string[1]) == keys


def count_keys(value: Any, depth: int) -> int:
    """Of all objects in it. RowError where it is nested more than `depth` deep."""
    if depth <= 0:
        raise RowError("is nested too deeply", code="too_deep")
    count, items = 0, value
    if type(value) is dict:
        count, items = len(value), value.values()
    for item in items:
        if type(item) is dict or type(item) is list:
            count += count_keys(item, depth - 1)
    return count


def _parse_slowly(line: bytes, nan: Callable[[], None] | None) -> Any:
    try:
        value = _json(_text(line), nan)
        bad = bad_text(value, "")
    except RecursionError as error:
        raise RowError("is nested too deeply", code="too_deep") from error
    if bad is not None:
        detail = "holds a NUL character or half of a surrogate pair"
        raise RowError(detail, pointer=bad, code="bad_characters")
    return value


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        utf16 = line.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "; it looks like UTF-16, save it as UTF-8" if utf16 else ""
        detail = f"is not UTF-8: byte 0x{line[error.start]:02x}, the line's {_ordinal(error.start + 1)}{hint}"
        column = len(line[: error.start].decode()) + 1
        raise RowError(detail, column=column, code="not_utf8") from error


def _json(text: str, nan: Callable[[], None] | None) -> Any:
    constant = partial(_constant, nan)
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        detail = f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise RowError(detail, column=error.colno, code="not_json") from error
    except ValueError as error:
        # Python refuses to read integers of thousands of digits.
        raise RowError("holds a number that is too long", code="bad_number") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in pairs:
        if name in row:
            raise RowError(f"the key {name[:100]!r} is there twice", pointer=f"/{name[:100]}", code="duplicate_key")
        row[name] = value
    return row


def _constant(nan: Callable[[], None] | None, name: str) -> None:
    if name == "NaN" and nan is not None:
        return nan()
    raise RowError(f"holds {name}, which is not JSON", code="bad_number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise RowError(f"holds {digits[:20]}, which is too large a number", code="bad_number")
    return number


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{suffix}"
