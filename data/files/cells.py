"""Lists, objects and conversations that lie in a text, as files have them whose cells know nothing else."""

import ast
import re
from collections.abc import Iterable
from typing import Any

import orjson

from data.errors import RowError
from data.files.json_records import count_keys, is_talk
from data.parse import bad_text

_DEPTH = 32
"""Levels of what is read out of a text."""
_LONGEST_PRINT = 256 * 1024
"""Characters of what Python printed: reading it takes much more memory than JSON does."""
_VALUES = re.compile(
    r"""(?:[\[\]{}(),: ]|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d[\d.e+-]*+|True|False|None)*+""",
    re.DOTALL,
)
"""Nothing but values: no names, no formatted strings, which take Python very long."""
_ONE_TEXT = re.compile(
    r"(prompt|question|query|instruction|input|output|response|completion|generation|answer|reply|candidate|chosen|rejected"
    r"|preferred|good|bad|better|worse|positive|negative|accepted|ref|target|solution|code|text|content|post|summary|system)"
    r"([-_ ]?\d+|[-_ ][a-z])?$|^(a|b|left|right)$",
    re.IGNORECASE,
)
"""Names of columns that hold one prompt or one answer each."""
_NOTE = "Lists in its cells are written as Python prints them, and were read as lists."
_OPENS = frozenset("[{")


class Cells:
    """The cells of a CSV. Most are texts; which are lists or objects is settled so:

    - A conversation is one in any column: messages, one message, or an object whose `messages` they are.
    - Otherwise a column is what its first cell that is not empty is: a list or an object, as JSON or as Python prints it, or text.
      Cells of the former that are neither stay text, for the format to complain about.
    - But a column that is named as one prompt or one answer (`prompt`, `response_a`, `chosen`) is text: an answer may well be
      JSON. Only `output` may hold several answers: its first cell is then a list of two or more texts.
    """

    def __init__(self, names: Iterable[str], notes: list[str]) -> None:
        """`notes`: where to say what is unusual."""
        self._notes = notes
        self._structured = {name: False for name in names if _ONE_TEXT.search(name) and name != "output"}

    def value(self, name: str, cell: str) -> Any:
        """The value of a cell. Raises RowError for a conversation in a printed form that cannot be read."""
        if not cell:
            return None
        opens = cell.startswith(("[", "{", "array(["))
        if name not in self._structured:
            self._settle(name, cell)
        found = self._found(name, cell) if opens else None
        return cell if found is None else found

    def _settle(self, name: str, first: str) -> None:
        """By the first cell of a column."""
        value = structure(first) if first.startswith(("[", "{")) else None
        several = isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value)
        self._structured[name] = several if name == "output" else value is not None
        if value is None and looks_printed(first):
            what = f"The column {name[:60]!r} holds lists as numpy prints them, which stay text"
            self._notes.append(f"{what}: write them with json.dumps if they matter.")

    def _found(self, name: str, cell: str) -> Any:
        structured = self._structured[name]
        if not structured and not _may_talk(cell):
            return None
        value = _from_json(cell)
        printed = value is None
        if printed:
            value = _from_python(cell)
        if value is None and _PRINTED_TALK.match(cell) and _may_talk(cell):
            detail = "is a conversation as Python or numpy prints it, not JSON: write the column with json.dumps"
            raise RowError(detail, pointer=f"/{name}", code="wrong_type")
        if value is None or not (structured or _is_talk(value)):
            return None
        if printed and _NOTE not in self._notes:
            self._notes.append(_NOTE)
        return value


def unpack(record: dict[str, Any]) -> None:
    """Conversations in place of the texts that hold one. Lists and objects of files that know such types are no texts."""
    for name, value in record.items():
        if type(value) is str and value[:1] in _OPENS and _may_talk(value):
            said = structure(value)
            if said is not None and _is_talk(said):
                record[name] = said


def structure(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or object that a text is, as JSON or as Python prints it; None if it is none, or not a sound one."""
    value = _from_json(text)
    return _from_python(text) if value is None else value


def _from_json(text: str) -> list[Any] | dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return _sound(value)


def _from_python(text: str) -> list[Any] | dict[str, Any] | None:
    """Numpy leaves out commas, so that Python would join the texts of its lists: what is printed otherwise once it was read is
    not taken."""
    if len(text) > _LONGEST_PRINT or _VALUES.fullmatch(text) is None:
        return None
    try:
        value = ast.literal_eval(text)
        return _sound(orjson.loads(orjson.dumps(value))) if repr(value) == text else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def looks_printed(text: str) -> bool:
    """Whether Python or numpy could have printed it as a list."""
    return _PRINTED.match(text) is not None


_PRINTED = re.compile(r"array\(|\[[\[({\s]*'")
_PRINTED_TALK = re.compile(r"(array\()?\[?\{'")


def _may_talk(text: str) -> bool:
    """Whether it names what messages have, in any quotes."""
    return any(name in text for name in ('"role"', "'role'", '"from"', "'from'"))


def _is_talk(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    return is_talk(value if isinstance(value, list) else [value])


def _sound(value: Any) -> list[Any] | dict[str, Any] | None:
    """If it is a list or an object, not nested too deeply, and nothing but text that can be stored."""
    if not isinstance(value, list | dict):
        return None
    try:
        count_keys(value, _DEPTH)
    except RowError:
        return None
    return value if bad_text(value) is None else None
