"""Reads files of rows (JSON Lines), strictly."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from data.errors import RowError, UnreadableRows

T = TypeVar("T")


def read_rows(path: str | None, parse: Callable[[dict[str, Any], int], T]) -> Iterator[T]:
    """What `parse` makes of each row and its line number; nothing where no file is named."""
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
    """What `parse` makes of one line. Raises UnreadableRows, naming file and line."""
    try:
        row = json.loads(line, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
        if not isinstance(row, dict):
            raise RowError("each line must be a JSON object")
        if "\\ud" in line.lower():
            json.dumps(row, ensure_ascii=False).encode()
        if "\\u0000" in line and _holds_nul(row):
            raise RowError("holds a NUL character")
        return parse(row, number)
    except json.JSONDecodeError as error:
        raise UnreadableRows(f"{path}, line {number}, column {error.colno}: not JSON: {error.msg}.") from error
    except RowError as error:
        raise UnreadableRows(f"{path}, line {number}: {error}.") from error
    except UnicodeEncodeError as error:
        raise UnreadableRows(f"{path}, line {number}: holds half of a surrogate pair (\\ud800 to \\udfff).") from error
    except RecursionError as error:
        raise UnreadableRows(f"{path}, line {number}: is nested too deeply.") from error
    except ValueError as error:  # Python refuses to read integers of thousands of digits
        raise UnreadableRows(f"{path}, line {number}: holds a number that is too long.") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RowError(f"holds the key {twice!r} twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise RowError(f"holds {name}, which is not JSON")


def _holds_nul(value: Any) -> bool:
    """The character, in a text or a key; a text about code may well spell out its escape."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in key or _holds_nul(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_holds_nul, value))
