"""Writes stored rows as Parquet. Every column has one type, so values of other types are converted to it."""

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import orjson
import pyarrow as arrow
import pyarrow.parquet as parquet_files

from data.stored_rows import Row, Shape, messages

_GROUP_BYTES = 16 * 1024**2
"""Approximate bytes of rows in a row group. A row group is held in memory."""
_MESSAGES = arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())]))
_TYPES = {
    "completions": arrow.list_(arrow.string()),
    "ranks": arrow.list_(arrow.int64()),
    "messages": _MESSAGES,
    "margin": arrow.float64(),
}
_ORDER = ("prompt", "a", "b", "label", "completions", "ranks", "completion", "thumb", "messages", "text", "answer", "annotator", "margin", "source", "time")  # fmt: skip


def parquet(open_rows: Callable[[], BinaryIO], shape: Shape) -> Iterator[bytes]:
    """The file, in pieces of one row group. The column of reference answers is numeric if all answers are numbers, otherwise text."""
    types = dict(_TYPES)
    if shape.conversational:
        types["prompt"] = _MESSAGES
    if "answer" in shape.columns:
        types["answer"] = _answer_type(open_rows)
    schema = arrow.schema([(name, types.get(name, arrow.string())) for name in _ORDER if name in shape.columns])
    outbox = _Outbox()
    with parquet_files.ParquetWriter(outbox, schema, compression="zstd") as writer:
        for group in _groups(open_rows):
            columns = [arrow.array([_cell(row, field) for row in group], field.type) for field in schema]
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            yield outbox.take()
    yield outbox.take()


def _cell(row: Row, field: Any) -> Any:
    value = row.get(field.name)
    if field.name == "prompt" and field.type == _MESSAGES and value is not None:
        return messages(value)
    if field.name == "answer" and value is not None and arrow.types.is_string(field.type):
        return str(value)
    return value


def _groups(open_rows: Callable[[], BinaryIO]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    with open_rows() as file:
        for line in file:
            group.append(orjson.loads(line))
            size += len(line)
            if size > _GROUP_BYTES:
                yield group
                group, size = [], 0
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
