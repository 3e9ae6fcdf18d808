"""Writes stored rows as Parquet. Every column has one type, so values of other types are converted to it."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import orjson
import pyarrow as arrow
import pyarrow.parquet as parquet_files

from data.stored_rows import ExportShape, Row, messages

_GROUP_BYTES = 16 * 1024**2
"""Approximate bytes of rows in a row group. A row group is held in memory."""
_MESSAGES = arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())]))
_TYPES = {
    "completions": arrow.list_(arrow.string()),
    "ranks": arrow.list_(arrow.int64()),
    "steps": arrow.list_(arrow.string()),
    "labels": arrow.list_(arrow.string()),
    "messages": _MESSAGES,
    "margin": arrow.float64(),
}
_ORDER = ("prompt", "a", "b", "label", "completions", "ranks", "completion", "thumb", "steps", "labels", "messages", "text", "answer", "annotator", "margin", "source", "time")  # fmt: skip


def parquet(open_rows: Callable[[], BinaryIO], shape: ExportShape) -> Iterator[bytes]:
    """The file, in pieces of one row group. The column of reference answers is numeric if all answers are numbers, otherwise text."""
    types = dict(_TYPES)
    if shape.conversational:
        types["prompt"] = _MESSAGES
    if "answer" in shape.columns:
        types["answer"] = _answer_type(open_rows)
    schema = arrow.schema([(name, types.get(name, arrow.string())) for name in _ORDER if name in shape.columns])
    yield from _written(_stored(open_rows), schema)


def of_rows(rows: Iterable[Row], columns: Mapping[str, Any]) -> Iterator[bytes]:
    """A file of these rows, in pieces of one row group. A column is "text", "messages", or a dict of the fields of an object."""
    schema = arrow.schema([(name, _type(column)) for name, column in columns.items()])
    yield from _written(((row, len(orjson.dumps(row))) for row in rows), schema)


def _type(column: Any) -> Any:
    if isinstance(column, dict):
        return arrow.struct([(name, _type(field)) for name, field in column.items()])
    return _MESSAGES if column == "messages" else arrow.string()


def _written(rows: Iterable[tuple[Row, int]], schema: Any) -> Iterator[bytes]:
    outbox = _Outbox()
    with parquet_files.ParquetWriter(outbox, schema, compression="zstd") as writer:
        for group in _groups(rows):
            columns = [arrow.array([_cell(row, field) for row in group], field.type) for field in schema]
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            yield outbox.take()
    yield outbox.take()


def _stored(open_rows: Callable[[], BinaryIO]) -> Iterator[tuple[Row, int]]:
    """Each stored row with its size in bytes."""
    with open_rows() as file:
        for line in file:
            yield orjson.loads(line), len(line)


def _cell(row: Row, field: Any) -> Any:
    value = row.get(field.name)
    if field.name == "prompt" and field.type == _MESSAGES and value is not None:
        return messages(value)
    if field.name == "answer" and value is not None and arrow.types.is_string(field.type):
        return str(value)
    return value


def _groups(rows: Iterable[tuple[Row, int]]) -> Iterator[list[Row]]:
    group: list[Row] = []
    total = 0
    for row, size in rows:
        group.append(row)
        total += size
        if total > _GROUP_BYTES:
            yield group
            group, total = [], 0
    if group:
        yield group


def _answer_type(open_rows: Callable[[], BinaryIO]) -> Any:
    kinds: set[type] = set()
    with open_rows() as file:
        for line in file:
            if b'"answer":' in line:
                kinds.add(type(orjson.loads(line).get("answer", 0)))
                if str in kinds or len(kinds) > 1:
                    return arrow.string()
    return arrow.float64() if float in kinds else arrow.int64()


class _Outbox(io.RawIOBase):
    """A write-only file. The caller takes and clears its contents."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
