"""One JSON record of an uploaded file, read with orjson and checked as strictly as `data.parse` checks it.

orjson keeps the last of two equal keys and reports nothing, so the keys in the text are counted and compared with the keys of
the value. Where they differ, `data.parse.strict_json` finds the key.
"""

import re
from collections.abc import Callable
from typing import Any

import orjson

from data.errors import RowError
from data.files.streams import Limits
from data.parse import strict_json


def parse_record(line: bytes, limits: Limits, nan: Callable[[], None] | None = None) -> dict[str, Any]:
    """The object on this line. A list of messages becomes an object with the key `messages`.

    `nan` is called for each NaN (pandas writes them), which is read as null; without it NaN is refused. Raises RowError.
    """
    if len(line) > limits.line_bytes:
        raise RowError(f"is longer than {limits.line_bytes} bytes", code="line_too_long")
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = strict_json(_text(line), nan)
        count_keys(value, limits.depth)
    else:
        if (
            type(value) not in (dict, list)
            or not _every_key_once(line, count_keys(value, limits.depth))
            or b"\\u0000" in line
        ):
            value = strict_json(_text(line), nan)
    return checked(value, limits)


def checked(value: Any, limits: Limits) -> dict[str, Any]:
    """The parsed value as a record. Raises RowError if it is no object, or has too many fields or none."""
    row = _object(value)
    if len(row) > limits.columns:
        raise RowError(f"has {len(row)} fields; {limits.columns} are allowed", code="too_many_fields")
    return row


_ARRAY = (
    "; an array is read only if it is a conversation: a list of messages. Write a record with the names of its columns, "
    "as pandas does with orient='records'"
)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        if not value:
            raise RowError("has no fields", code="missing_field")
        return value
    if isinstance(value, list) and is_conversation(value):
        return {"messages": value}
    hint = _ARRAY if isinstance(value, list) else ""
    raise RowError(f"must be a JSON object{hint}", column=1, code="not_an_object")


_MESSAGES = (("role", "content"), ("from", "value"))
"""The keys of a message in OpenAI's and in ShareGPT's format."""


def is_conversation(messages: list[Any]) -> bool:
    """Whether a list holds messages and nothing else. False for an empty list."""
    return bool(messages) and all(map(is_message, messages))


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and any(role in value and content in value for role, content in _MESSAGES)


TOKEN = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|(")|([\[{])|([\]}])', re.DOTALL)
"""A string, a quote that begins a string without an end, and brackets."""


def object_end(text: bytes) -> int | None:
    """The offset behind the object or list that the text begins with, or None if it does not end in the text."""
    depth = 0
    for token in TOKEN.finditer(text):
        if token.lastindex == 2:
            return None
        depth += {3: 1, 4: -1}.get(token.lastindex or 0, 0)
        if depth == 0 and token.lastindex == 4:
            return token.end()
    return None


_SPACED = re.compile(rb'"[ \t\r\n]+:')
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"([ \t\r\n]*+:)?', re.DOTALL)


def _every_key_once(text: bytes, keys: int) -> bool:
    """Whether valid JSON has no key twice; `keys` is the number of keys of the parsed value.

    A quote directly before a colon either ends a key or is part of a string, so their number is at least the number of keys.
    Equality proves that no key was lost. In any other case each string is examined.
    """
    if text.count(b'":') == keys and _SPACED.search(text) is None:
        return True
    return sum(1 for string in _STRING.finditer(text) if string[1]) == keys


def count_keys(value: Any, depth: int) -> int:
    """The number of keys of all objects in `value`. Raises RowError where it is nested more than `depth` levels deep."""
    if depth <= 0:
        raise RowError("is nested too deeply", code="too_deep")
    count, items = 0, value
    if type(value) is dict:
        count, items = len(value), value.values()
    for item in items:
        if type(item) is dict or type(item) is list:
            count += count_keys(item, depth - 1)
    return count


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        utf16 = line.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "; it looks like UTF-16, save it as UTF-8" if utf16 else ""
        detail = f"is not UTF-8: byte 0x{line[error.start]:02x}, the line's {_ordinal(error.start + 1)}{hint}"
        column = len(line[: error.start].decode()) + 1
        raise RowError(detail, column=column, code="not_utf8") from error


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{suffix}"
