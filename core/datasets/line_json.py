"""One line of JSONL: strictly parsed, with the place of what is wrong."""

import json
from typing import Any

from core.storable import bad_text


class BadLine(Exception):
    """What is wrong with a line, and where: a column (characters, from 1) or a JSON pointer."""

    def __init__(self, detail: str, column: int | None = None, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.detail, self.column, self.pointer = detail, column, pointer


def parse(line: bytes, limit: int) -> dict[str, Any]:
    """The object on this line, or BadLine."""
    if len(line) > limit:
        raise BadLine(f"is longer than {limit} bytes")
    try:
        value = _json(_text(line))
        bad = bad_text(value, "")
    except RecursionError as error:
        raise BadLine("is nested too deeply") from error
    if not isinstance(value, dict):
        hint = " (this looks like a JSON array; write one object a line)" if isinstance(value, list) else ""
        raise BadLine(f"must be a JSON object{hint}", column=1)
    if bad is not None:
        raise BadLine("holds a NUL character or half of a surrogate pair", pointer=bad)
    return value


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        utf16 = line.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = "; it looks like UTF-16, save it as UTF-8" if utf16 else ""
        detail = f"is not UTF-8: byte 0x{line[error.start]:02x}, the line's {_ordinal(error.start + 1)}{hint}"
        raise BadLine(detail, column=len(line[: error.start].decode()) + 1) from error


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        hint = "; write each object on one line" if text.strip() in ("{", "[", "[{") else ""
        raise BadLine(f"is not valid JSON: {_lower_first(error.msg)}{hint}", column=error.colno) from error
    except ValueError as error:
        # Python refuses to read integers of thousands of digits.
        raise BadLine("holds a number that is too long") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadLine(f"holds the key {twice!r} twice", pointer=f"/{twice}")
    return row


def _no_constant(name: str) -> Any:
    raise BadLine(f"holds {name}, which is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise BadLine(f"holds {digits[:20]}, which is too large a number")
    return number


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{suffix}"
