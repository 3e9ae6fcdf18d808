"""Strict JSON, files of rows (JSON Lines), and text that JSON, Parquet and PostgreSQL can all hold.

It imports the standard library only, because the trainer reads its rows with it.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from data.errors import RowError, UnreadableRows

T = TypeVar("T")
_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def read_rows(path: str | None, parse: Callable[[dict[str, Any], int], T]) -> Iterator[T]:
    """Yields `parse(row, line number)` for each line that is not blank; nothing if `path` is None. Raises UnreadableRows."""
    if path is None:
        return
    empty = True
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    empty = False
                    yield read_row(path, number, line, parse)
    except OSError as error:
        raise UnreadableRows(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UnreadableRows(f"{path}: not UTF-8 text (byte {error.start}).") from error
    if empty:
        raise UnreadableRows(f"{path}: the file is empty: it has no row.")


def read_row(path: str, number: int, line: str, parse: Callable[[dict[str, Any], int], T]) -> T:
    """`parse(row, number)` of one line. Raises UnreadableRows, which names file, line and column."""
    try:
        row = strict_json(line)
        if not isinstance(row, dict):
            raise RowError("must be a JSON object", code="not_an_object")
        return parse(row, number)
    except RowError as error:
        column = "" if error.column is None else f", column {error.column}"
        raise UnreadableRows(f"{path}, line {number}{column}: {error.sentence()}.") from error


def strict_json(text: str, nan: Callable[[], None] | None = None) -> Any:
    """The value of a JSON text.

    `nan` is called for each NaN, which is read as null; without it NaN is refused. Raises RowError for what JSON or PostgreSQL
    cannot hold: a key twice in one object, Infinity, a number beyond a double, NUL, half of a surrogate pair.
    """
    try:
        value = _value(text, nan)
        bad = bad_text(value, "") if "\\u" in text else None  # both characters can only be written as escapes
    except RecursionError as error:
        raise RowError("is nested too deeply", code="too_deep") from error
    if bad is not None:
        detail = "holds a NUL character or half of a surrogate pair"
        raise RowError(detail, pointer=bad, code="bad_characters")
    return value


def _value(text: str, nan: Callable[[], None] | None) -> Any:
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
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for index, name in enumerate(names) if name in names[:index])[:100]
        raise RowError(f"the key {twice!r} is there twice", pointer=f"/{twice}", code="duplicate_key")
    return record


def _constant(nan: Callable[[], None] | None, name: str) -> None:
    if name == "NaN" and nan is not None:
        return nan()
    raise RowError(f"holds {name}, which is not JSON", code="bad_number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise RowError(f"holds {digits[:20]}, which is too large a number", code="bad_number")
    return number


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
        if problem := bad_text(item, f"{pointer}/{key}"):
            return problem
    return None
