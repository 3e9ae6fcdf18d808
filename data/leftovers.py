"""The columns of the first records that a format does not use, with their probable meaning.

A column is used if the rows of some record change without it, or what is noted about them. It is not lost either if the rows
contain its text.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from data.column_meaning import Meaning, is_filled, meaning
from data.errors import RowError
from data.files.records import compact
from data.findings import Findings
from data.formats.base import Format, Rated, Reading, Source
from data.formats.read import read
from data.schema import DatasetKind, canonical
from data.spelling import Names

_TRIED = 8
"""Records that are read without a column, to find whether it is used."""
_LEVELS, _MOST_PATHS = 3, 150
"""Levels of nested objects that are examined, and most columns."""
_LONG = 20
"""Least characters of a text that another one cannot contain by chance."""
_EXAMPLES, _EXAMPLE_CHARACTERS = 6, 80
_IN_MESSAGES = frozenset(
    {"role", "content", "from", "value", "name", "weight", "train", "loss", "loss_weight", "tool_calls", "tool_call_id",
     "function_call", "refusal", "reasoning", "reasoning_content", "thinking", "input", "output", "id", "type", "text"}
)  # fmt: skip
"""Keys of a message that are read, or that say nothing about it."""
Path = tuple[str, ...]
"""Names from the record to a value. `*` stands for every item of a list."""


@dataclass(frozen=True)
class PathColumn:
    """A column at a path, used or not, with the filled values of the first records."""

    path: Path
    values: list[Any]
    used: bool
    kept: bool
    """Whether the rows contain its texts."""

    @property
    def name(self) -> str:
        """The path with dots, as a mapping has it."""
        return ".".join(self.path)

    def examples(self) -> list[str]:
        """Some different values as short texts."""
        return examples(self.values)

    def meaning(self, *, sides: bool = False) -> Meaning | None:
        """The probable meaning, by name and values."""
        return meaning(self.name, self.values, sides=sides)


def examples(values: Sequence[Any]) -> list[str]:
    """Some different values as short texts."""
    texts = dict.fromkeys(
        (value if isinstance(value, str) else compact(value))[:_EXAMPLE_CHARACTERS] for value in values
    )
    return list(texts)[:_EXAMPLES]


@dataclass(frozen=True)
class Sample:
    """The first records, as a format reads them."""

    columns: list[PathColumn]
    rows: list[tuple[Source, Any]]
    """Records that give rows, each with its first row."""

    def unused(self) -> list[PathColumn]:
        """Filled columns whose content is lost."""
        return [column for column in self.columns if not (column.used or column.kept)]


def examine(
    records: Sequence[Source], known: Format, kind: DatasetKind, mapping: Mapping[str, Any] | None, names: Names
) -> Sample:
    """The columns of the records, with those that the rows use."""
    reader = _Reader(known, kind, mapping, names)
    read_as = [(record, outcome) for record in records if (outcome := reader.outcome(record)) is not None]
    paths: dict[Path, list[tuple[Source, _ConvertedRecord, Any]]] = {}
    for record, outcome in read_as:
        for path, value in _paths(record, (), _LEVELS, ()):
            if path in paths or len(paths) < _MOST_PATHS:
                paths.setdefault(path, []).append((record, outcome, value))
    columns = [_column(path, found, reader) for path, found in paths.items()]
    return Sample(columns, [(record, outcome.rows[0]) for record, outcome in read_as if outcome.rows])


@dataclass(frozen=True)
class _ConvertedRecord:
    """The rows of a record, and the codes of what was noted."""

    rows: list[Any]
    noted: frozenset[str]


class _Reader:
    def __init__(self, known: Format, kind: DatasetKind, mapping: Mapping[str, Any] | None, names: Names) -> None:
        self._known, self._kind, self._mapping, self._names = known, kind, mapping or {}, names

    def outcome(self, record: Source) -> _ConvertedRecord | None:
        """The outcome of reading a record; None for an error."""
        reading = Reading(self._kind, Findings(), self._mapping, named=True)
        try:
            rows = list(read(record, self._known, self._names, reading))
            for row in rows:
                if not isinstance(row, Rated):
                    canonical(self._kind, row)
        except RowError:
            return None  # the import reports the error
        return _ConvertedRecord(rows, reading.findings.codes())

    def uses(self, path: Path, record: Source, outcome: _ConvertedRecord) -> bool:
        return self._names.passes(path[0]) and self.outcome(_without(record, path)) != outcome


def _column(path: Path, found: list[tuple[Source, _ConvertedRecord, Any]], reader: _Reader) -> PathColumn:
    step = max(1, len(found) // _TRIED)
    used = any(reader.uses(path, record, outcome) for record, outcome, _ in found[::step][:_TRIED])
    kept = not used and all(_is_kept(value, outcome.rows) for _, outcome, value in found)
    return PathColumn(path, [value for _, _, value in found], used, kept)


def _paths(
    record: Mapping[str, Any], before: Path, levels: int, skipped: Collection[str]
) -> Iterator[tuple[Path, Any]]:
    """The filled values of a record with their paths, without the keys `skipped`. Objects are entered; of a list of objects,
    the first filled values."""
    for name, value in record.items():
        path = (*before, name)
        if name in skipped:
            continue
        if isinstance(value, dict) and value and levels > 1:
            yield from _paths(value, path, levels - 1, ())
        elif is_filled(value):
            yield path, value
            if isinstance(value, list) and levels > 1 and isinstance(value[0], dict):
                merged = {
                    key: item
                    for one in reversed(value)
                    if isinstance(one, dict)
                    for key, item in one.items()
                    if is_filled(item)
                }
                yield from _paths(merged, (*path, "*"), levels - 1, _IN_MESSAGES if _is_talk(value) else ())


def _is_talk(value: list[Any]) -> bool:
    objects = [one for one in value if isinstance(one, dict)]
    return any("role" in one or "from" in one or one.keys() >= {"input", "output"} for one in objects)


def _without(record: Source, path: Path) -> Source:
    """A copy of the record without the value at the path."""
    if len(path) == 1:
        return {name: value for name, value in record.items() if name != path[0]}
    copy = {**record, path[0]: deepcopy(record[path[0]])}
    _remove(copy, path)
    return copy


def _remove(value: Any, path: Path) -> None:
    if path[0] == "*":
        for item in value if isinstance(value, list) else []:
            _remove(item, path[1:])
    elif isinstance(value, dict):
        if len(path) == 1:
            value.pop(path[0], None)
        elif path[0] in value:
            _remove(value[path[0]], path[1:])


def _is_kept(value: Any, rows: list[Any]) -> bool:
    """Whether the rows contain all texts of the value, or it contains the rows' texts, as a rendered template does."""
    texts, inside = list(_texts(value)), [text for row in rows for text in _texts(_plain(row))]
    if not texts or not inside:
        return False
    return all(any(_contains(other, text) for other in inside) for text in texts) or (
        isinstance(value, str) and all(len(text) >= _LONG and text in value for text in inside[-1:])
    )


def _contains(text: str, part: str) -> bool:
    part, text = part.strip(), text.strip()
    return part == text or (len(part) >= _LONG and part in text)


def _plain(row: Any) -> Any:
    return (
        [row.prompt, row.completion]
        if isinstance(row, Rated)
        else [item for name, item in row.items() if name != "source"]
    )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value. Roles and types of parts are none."""
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in ("role", "from", "type"):
                yield from _texts(item)
