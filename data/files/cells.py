"""Reads lists, objects and conversations that are stored as text in cells, as in a CSV file."""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from data.errors import RowError
from data.files.json_records import count_keys, is_conversation
from data.parse import bad_text

_DEPTH = 32
"""Most levels of nesting in such a text."""
_LONGEST_PRINT = 256 * 1024
"""Most characters of a text that Python printed. Parsing it takes much more memory than JSON."""
_VALUES = re.compile(
    r"""(?:[\[\]{}(),: ]|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?\d[\d.e+-]*+|True|False|None)*+""",
    re.DOTALL,
)
"""Syntax nodes of plain values. Names and formatted strings are excluded; Python evaluates the latter very slowly."""
_ONE_TEXT = re.compile(
    r"(prompt|question|query|instruction|input|output|response|completion|generation|answer|reply|candidate|chosen|rejected"
    r"|preferred|good|bad|better|worse|positive|negative|accepted|ref|target|solution|code|text|content|post|summary|system)"
    r"([-_ ]?\d+|[-_ ][a-z])?$|^(a|b|left|right)$",
    re.IGNORECASE,
)
"""Names of columns that hold one prompt or one answer each."""
_NO_VALUE = frozenset({"NaN", "nan", "NULL", "null", "<NA>", "#N/A", "NaT"})
"""Words that programs write for a missing value."""
_NO_ANSWER = _NO_VALUE | {"None", "NA", "N/A"}
"""The same for a column of one text each. Elsewhere, as in a column of verdicts, these may have a meaning."""
_LONGEST_WORD = max(map(len, _NO_ANSWER))
_NOTE = "Lists in its cells are written as Python prints them, and were read as lists."
_OPENS = frozenset("[{")


@dataclass
class Missing:
    """The cells of a CSV file that hold a word for a missing value, by column and word."""

    count: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)
    """The line of the first one."""

    def add(self, name: str, word: str, line: int) -> None:
        """Count a cell."""
        self.count[name, word] += 1
        self.lines.setdefault((name, word), line)


class Cells:
    """The cells of a CSV file. Most are texts. Three rules decide which are lists or objects:

    - A conversation is read in any column: messages, one message, or an object with `messages`.
    - The first cell of any other column that is not empty decides: list, object or text. Cells that do not match stay
      text, and the format reports them.
    - A column that is named as one prompt or one answer (`prompt`, `response_a`, `chosen`) is text, because an answer
      may be JSON. `output` may also hold several answers: its first cell is then a list of two or more texts.
    """

    def __init__(self, names: Iterable[str], notes: list[str], missing: Missing) -> None:
        """`notes` receives remarks on unusual properties of the file, and `missing` the words for a missing value."""
        self._notes, self._missing = notes, missing
        self._structured = {name: False for name in names if _ONE_TEXT.search(name) and name != "output"}

    def value(self, name: str, cell: str, line: int) -> Any:
        """The value of a cell. Raises RowError for a conversation in a printed form that cannot be read."""
        if not cell:
            return None
        if len(cell) <= _LONGEST_WORD + 2 and cell.strip() in (_NO_ANSWER if _ONE_TEXT.search(name) else _NO_VALUE):
            self._missing.add(name, cell.strip(), line)
            return None
        opens = cell.startswith(("[", "{", "array(["))
        if name not in self._structured:
            self._settle(name, cell)
        found = self._found(name, cell) if opens else None
        return cell if found is None else found

    def _settle(self, name: str, first: str) -> None:
        """The type of a column, from its first filled cell."""
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
        if value is None or not (structured or _is_conversation(value)):
            return None
        if printed and _NOTE not in self._notes:
            self._notes.append(_NOTE)
        return value


def unpack(record: dict[str, Any]) -> None:
    """Replace texts that hold a conversation by the conversation. Containers with types need no other conversion."""
    for name, value in record.items():
        if type(value) is str and value[:1] in _OPENS and _may_talk(value):
            parsed = structure(value)
            if parsed is not None and _is_conversation(parsed):
                record[name] = parsed


def structure(text: str) -> list[Any] | dict[str, Any] | None:
    """The list or object in a text, as JSON or as Python prints it. None if the text has none, or an unsound one."""
    value = _from_json(text)
    return _from_python(text) if value is None else value


def _from_json(text: str) -> list[Any] | dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return _sound(value)


def _from_python(text: str) -> list[Any] | dict[str, Any] | None:
    """The value that Python printed, or None. Numpy leaves out commas, so Python would join the texts of its lists. A value
    that prints differently is refused."""
    if len(text) > _LONGEST_PRINT or _VALUES.fullmatch(text) is None:
        return None
    try:
        value = ast.literal_eval(text)
        return _sound(orjson.loads(orjson.dumps(value))) if repr(value) == text else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def looks_printed(text: str) -> bool:
    """Whether the text could be a list that Python or numpy printed."""
    return _PRINTED.match(text) is not None


_PRINTED = re.compile(r"array\(|\[[\[({\s]*'")
_PRINTED_TALK = re.compile(r"(array\()?\[?\{'")


def _may_talk(text: str) -> bool:
    """Whether the text has the keys of messages, in any quotes."""
    return any(name in text for name in ('"role"', "'role'", '"from"', "'from'"))


def _is_conversation(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    return is_conversation(value if isinstance(value, list) else [value])


def _sound(value: Any) -> list[Any] | dict[str, Any] | None:
    """The value if it is a list or object, is not nested too deeply and has storable text only; otherwise None."""
    if not isinstance(value, list | dict):
        return None
    try:
        count_keys(value, _DEPTH)
    except RowError:
        return None
    return value if bad_text(value) is None else None
