"""Finds the records of a JSON document that is one object: a list under a key, as `{"data": […]}`, or a table as pandas writes it.

A document larger than a record may be is read as a stream, which needs a list of objects. A smaller one is read as a whole.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from data.errors import RowError, UnusableFile
from data.files.cells import unpack
from data.files.json_records import TOKEN, checked, count_keys, is_conversation, is_message, object_end
from data.files.records import Record
from data.files.streams import Limits
from data.findings import unusable
from data.parse import strict_json

Row = dict[str, Any]
_SPLITS = ("train", "training", "test", "validation", "valid", "val", "dev", "eval", "evaluation")
_LISTS = frozenset(
    {"data", "rows", "records", "examples", "items", "instances", "results", "entries", "dataset", *_SPLITS}
)
"""Usual names of a list of records."""
_IN_A_RECORD = frozenset({"samples", "turns", "messages", "conversation", "conversations", "dialog", "dialogue"})
"""Names of a list of objects within one record, even if the record has no other field."""
_VALUE = re.compile(rb"\s*:\s*")
_OF_OBJECTS = re.compile(rb"\[\s*\{")
_OF_TABLE = re.compile(rb'\{\s*"0"\s*:|\[\s*[^{\s]')
_VIEWED = "Each record is the `row` of an entry, as the dataset viewer of Hugging Face writes it."
_NAN = "NaN, which JSON does not have, was read as null."
_CURE = "Write one record a line: with pandas, df.to_json(path, orient='records', lines=True)."


@dataclass(frozen=True)
class Listed:
    """A document whose records are a list under a key."""

    key: str
    before: bytes
    """The text before the list."""

    def check(self, after: bytes, limits: Limits, notes: list[str]) -> None:
        """Check the text after the list, of which one byte more than the limit of a line suffices.

        Adds a note on the unused keys. Raises UnusableFile if the document has another list of records, or never ends.
        """
        text = self.before + b"[]" + after
        value = _value(text, limits)
        others = [key for key, offset in _members(text) if _OF_OBJECTS.match(text, offset) and not self._describes(key)]
        if others and (value is None or any(_is_list(value[key]) for key in others)):
            raise _several([self.key, *others])
        if value is None:
            detail = f"The JSON is not valid behind its list {self.key!r}: the file was cut off, or more text follows."
            raise unusable("truncated", detail)
        notes.append(_note(self.key, [key for key in value if key != self.key]))

    def _describes(self, key: str) -> bool:
        """Whether the list describes the columns, in a file of the dataset viewer of Hugging Face."""
        return self.key == "rows" and key == "features"


@dataclass(frozen=True)
class Table:
    """A document that was read as a whole."""

    names: list[str]
    records: list[Row]
    notes: list[str]

    def read(self, limits: Limits) -> Iterator[Record]:
        """The records, numbered from 1."""
        for number, record in enumerate(self.records, 1):
            try:
                unpack(checked(record, limits))
                yield number, record, None
            except RowError as bad:
                yield number, bad, None


def is_one_object(head: bytes) -> bool:
    """Whether the text, of which `head` is the beginning, may be one object and nothing else."""
    if not head.lstrip().startswith(b"{"):
        return False
    end = object_end(head)
    return end is None or not head[end:].strip()


def find(text: bytes, whole: bool, limits: Limits) -> Listed | Table | None:
    """The records of the document, or None if the text is a record itself, or several.

    `text` is the beginning of the file, one byte longer than a record may be, or the `whole` file. Raises UnusableFile for
    several lists, and for a large table that is not a list.
    """
    if whole:
        nans: list[str] = []
        value = _value(text, limits, lambda: nans.append(_NAN))
        found = None if value is None else _in_value(value, text)
        if isinstance(found, Table):
            found.notes.extend(nans[:1])
        return found
    if object_end(text) is not None:
        return None
    offsets: list[int] = []
    for key, offset in _members(text):
        listed = key.lower() in _LISTS or (not offsets and key.lower() not in _IN_A_RECORD)
        if listed and _OF_OBJECTS.match(text, offset) and not _begins_talk(text[offset:]):
            return Listed(key, text[:offset])
        offsets.append(offset)
    if offsets and all(_OF_TABLE.match(text, offset) for offset in offsets):
        detail = f"The JSON holds columns instead of records, and more than {limits.line_bytes} bytes of them."
        raise unusable("column_oriented", f"{detail} {_CURE}")
    return None


def unwrapped(records: Iterator[Record], key: str, notes: list[str]) -> Iterator[Record]:
    """The records, without the object around each that the dataset viewer of Hugging Face writes.

    A record with a cell that the viewer cut off is an error.
    """
    for line, value, raw in records:
        inside = value.get("row") if key == "rows" and isinstance(value, dict) and "row_idx" in value else None
        if not isinstance(inside, dict) or not isinstance(value, dict):
            yield line, value, raw
            continue
        if _VIEWED not in notes:
            notes.append(_VIEWED)
        if cut := value.get("truncated_cells"):
            yield line, RowError(f"has cells that were cut off: {str(cut)[:80]}", code="truncated_cell"), raw
        else:
            yield line, inside, raw


def _in_value(value: Row, text: bytes) -> Listed | Table | None:
    _refuse_unread(value)
    for read in (_split, _by_column, _by_index):
        if (found := read(value)) is not None:
            return found
    lists = [key for key, item in value.items() if _is_list(item)]
    named = [key for key in lists if key.lower() in _LISTS]
    if len(named) > 1 or (len(lists) > 1 and len(lists) == len(value)):
        raise _several([f"{key} ({len(value[key])})" for key in named or lists])
    key = named[0] if named else next(iter(lists), "")
    if named or (len(value) == len(lists) == 1 and key.lower() not in _IN_A_RECORD):
        return Listed(key, text[: next(offset for name, offset in _members(text) if name == key)])
    return None


_PARENTS = _LISTS | {"result", "response", "payload", "body"}


def _refuse_unread(value: Row) -> None:
    """Raise UnusableFile for a table or a list of records in a form that would be read as one record, or not at all."""
    for key, item in value.items():
        if key.lower() in _PARENTS and isinstance(item, dict) and _holds_records(item, value):
            detail = f"The records are inside the object {key!r}, with the keys {', '.join(map(repr, list(item)[:4]))}."
            raise unusable("nested_list", f"{detail} {_CURE}")
    columns = list(value.values())
    if len(columns) < 2 or value.keys() >= {"columns", "data"}:
        return
    if all(isinstance(column, list) and not any(isinstance(one, list | dict) for one in column) for column in columns):
        sizes = [f"{name} ({len(column)})" for name, column in value.items()]
        if len({len(column) for column in columns}) > 1:
            detail = f"The JSON holds columns of different lengths: {', '.join(sizes[:12])}."
            raise unusable("column_oriented", f"{detail} {_CURE}")
    if (
        not all(map(str.isdecimal, value))
        and all(map(_is_labelled, columns))
        and len({tuple(column) for column in columns}) == 1
    ):
        detail = "The JSON is a table with names for its rows, by column or by row, which cannot be distinguished."
        raise unusable("column_oriented", f"{detail} {_CURE}")


def _holds_records(item: Row, value: Row) -> bool:
    """Whether the object holds lists of records or columns, and the document nothing else but plain values."""
    lists = any(isinstance(one, list) and one and not is_conversation(one) for one in item.values())
    alone = all(one is item or not isinstance(one, list | dict) for one in value.values())
    return alone and (lists or all(isinstance(one, dict) for one in item.values()))


def _is_labelled(column: Any) -> bool:
    """Whether the value is an object of plain values, no message, and its keys are no numbers."""
    if not isinstance(column, dict) or not column or is_message(column) or all(map(str.isdecimal, column)):
        return False
    return not any(isinstance(one, list | dict) for one in column.values())


def _split(value: Row) -> Table | None:
    """pandas' orient="split": the names of the columns, and a list of values for each row."""
    names, rows = value.get("columns"), value.get("data")
    if not isinstance(names, list) or not names or not isinstance(rows, list):
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return _table(names, [dict(zip(names, row, strict=True)) for row in rows])


def _by_column(value: Row) -> Table | None:
    """pandas' default, an object of values by number for each column, or a list of values for each column."""
    columns = list(value.values())
    if columns and all(isinstance(column, dict) for column in columns):
        numbers = list(columns[0])
        if any(list(column) != numbers for column in columns) or not all(map(str.isdecimal, numbers)):
            return None
        if not numbers and len(columns) == 1:
            return None
        columns = [list(column.values()) for column in columns]
    elif not _are_lists(columns):
        return None
    return _table(list(value), [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)])


def _are_lists(columns: list[Any]) -> bool:
    """Whether the values are columns of equal length. A single column must be texts, and conversations are no columns."""
    if not columns or not all(isinstance(column, list) and not _is_record_list(column) for column in columns):
        return False
    if len(columns) == 1:
        return all(isinstance(item, str) for item in columns[0])
    return len({len(column) for column in columns}) == 1


def _by_index(value: Row) -> Table | None:
    """pandas' orient="index": an object for each row, under its number."""
    rows = list(value.values())
    if not rows or not all(map(str.isdecimal, value)) or not all(isinstance(row, dict) and row for row in rows):
        return None
    return _table(list(dict.fromkeys(name for row in rows for name in row)), rows)


def _table(names: list[str], rows: list[Row]) -> Table:
    return Table(names, rows, ["The file is a table as pandas writes it. Its records are numbered from 1."])


def _is_record_list(items: list[Any]) -> bool:
    """Whether the items are objects: records, or the messages of one conversation."""
    return bool(items) and all(isinstance(item, dict) for item in items)


def _is_list(value: Any) -> bool:
    """Whether the value is a list of records."""
    return isinstance(value, list) and _is_record_list(value) and not is_conversation(value)


def _several(lists: Sequence[str]) -> UnusableFile:
    detail = f"The file holds several lists of records: {', '.join(lists[:12])}."
    advice = (
        "Write each into a file of its own. A job trains on one and can evaluate on another (data.evaluation_prompts)."
    )
    return unusable("several_lists", f"{detail} {advice}")


def _note(key: str, others: list[str]) -> str:
    unused = f" Not used beside it: {', '.join(others[:12])}." if others else ""
    return f"The records are the list {key!r} of the file's one object.{unused}"


def _value(text: bytes, limits: Limits, nan: Callable[[], None] = lambda: None) -> Row | None:
    """The object in the text, or None if the text is anything else or has an error, which the reader of records reports.

    `nan` is called for each NaN, which is read as null.
    """
    try:
        value = strict_json(text.decode(), nan)
        count_keys(value, limits.depth + 2)
    except (RowError, UnicodeDecodeError, TypeError):
        return None
    return value if isinstance(value, dict) else None


def _begins_talk(text: bytes) -> bool:
    """Whether the first object of a list is a message. A part of a very long message decides by its keys."""
    start = text.index(b"{")
    end = object_end(text[start:])
    try:
        return end is not None and is_message(json.loads(text[start : start + end]))
    except ValueError:
        return False


def _members(text: bytes) -> Iterator[tuple[str, int]]:
    """The keys of the object that the text begins with, each with the offset of its value, as far as the text goes."""
    depth = 0
    for token in TOKEN.finditer(text):
        if token.lastindex == 2:
            return
        depth += {3: 1, 4: -1}.get(token.lastindex or 0, 0)
        if depth == 1 and token.lastindex == 1 and (colon := _VALUE.match(text, token.end())) is not None:
            yield json.loads(token[1].decode(errors="replace")), colon.end()
