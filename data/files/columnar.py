"""Reads Parquet: one row group at a time, a few records at a time, and only the columns that are used."""

import datetime
import decimal
import math
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from data.errors import RowError
from data.files.cells import unpack
from data.files.records import Record
from data.files.streams import HARMLESS, Limits
from data.findings import unusable

_MOST_FOOTER = 64 * 1024**2
"""Most bytes of the file's metadata. A million columns need more."""
_BATCH = 256
"""Records that are read at a time."""
_BUDGET = 16 * 1024**2
"""Bytes of records that are converted to objects at a time."""
_BUFFER = 1024**2
"""Bytes of a column that are read in advance."""
_MEASURED = 64 * 1024**2
"""Most bytes of stored values of a file that is measured before its first row is converted."""
_MEASURED_BATCH = 64 * 1024
"""Records that are measured at a time. Each different text is in memory once."""
_LEAVES = 20
"""Most nested columns for each allowed column."""


class Columnar:
    """An open Parquet file. `file` must be seekable. Raises UnusableFile."""

    def __init__(self, file: BinaryIO, limits: Limits, progress: Callable[[int], None] = lambda _: None) -> None:
        # Slow to import, and few need it.
        import pyarrow as arrow
        import pyarrow.parquet as parquet

        self._limits, self._arrow, self._progress = limits, arrow, progress
        self._bytes = _check_footer(file)
        try:
            described = parquet.read_metadata(file)
            self._file = parquet.ParquetFile(
                file, metadata=described, read_dictionary=_texts(described), pre_buffer=False, buffer_size=_BUFFER
            )
            self.names: list[str] = list(self._file.schema_arrow.names)
        except (arrow.ArrowException, OSError, ValueError) as error:
            raise unusable("broken_parquet", f"The Parquet file is broken: {_first_line(error)}") from error
        self._check()

    def _check(self) -> None:
        described = self._file.metadata
        if len(set(self.names)) < len(self.names):
            raise unusable("duplicate_columns", "The Parquet file has two columns of one name.")
        columns, leaves = len(self.names), described.num_columns
        if columns > self._limits.columns or leaves > _LEAVES * self._limits.columns:
            detail = f"The file has {max(columns, leaves)} columns; {self._limits.columns} are allowed."
            raise unusable("too_many_columns", detail)
        groups = (described.row_group(index) for index in range(described.num_row_groups))
        self._stored = sum(group.total_byte_size for group in groups)
        self._bound(self._stored, None)

    def _bound(self, size: int, line: int | None) -> None:
        limits = self._limits
        if size > limits.expanded_bytes:
            detail = f"Unpacked, the file has more than {limits.expanded_bytes} bytes, which is the limit."
            raise unusable("expands_too_far", detail, line)
        if size > max(HARMLESS, limits.ratio * self._bytes):
            detail = f"Unpacked, the file is more than {limits.ratio:g} times as large as it was sent."
            raise unusable("expands_too_far", detail, line)

    def records(self, wants: Callable[[str], bool] | None) -> Iterator[Record]:
        """Rows with their index, from 1. Null becomes None. `wants` returns whether a column is read; None reads all."""
        wanted = [name for name in self.names if wants is None or wants(name)] or self.names[:1]  # none: no rows
        number = count = 0
        if wants is not None:
            self._measure(wanted)
        try:
            for batch in self._batches(wanted):
                count += self._expanded(batch)
                self._bound(count, number + 1)
                for row in self._rows(self._seconds(batch)):
                    number += 1
                    yield number, row, None
                self._progress(self._bytes * number // self._file.metadata.num_rows)
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            detail = f"The Parquet file is broken behind row {number}: {_first_line(error)}"
            raise unusable("broken_parquet", detail, number + 1) from error

    def _measure(self, columns: list[str]) -> None:
        """Raise UnusableFile if the columns of a small file expand too far, because their texts are repeated.

        Adding the lengths up is a hundred times as fast as converting the rows. A broken file is left to the conversion.
        """
        described = self._file.metadata
        if self._stored > _MEASURED or any(_differences(described, index) for index in range(described.num_columns)):
            return
        count = 0
        try:
            for group in range(described.num_row_groups):
                for batch in self._file.iter_batches(
                    _MEASURED_BATCH, row_groups=[group], columns=columns, use_threads=False
                ):
                    count += self._expanded(batch)
        except (self._arrow.ArrowException, OSError, ValueError):
            return
        self._bound(count, None)

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        """Batches of rows. A batch never spans row groups, because nested texts with different dictionaries cannot be joined."""
        described = self._file.metadata
        size = 1 if any(_differences(described, index) for index in range(described.num_columns)) else _BATCH
        for group in range(described.num_row_groups):
            yield from self._file.iter_batches(size, row_groups=[group], columns=columns, use_threads=False)

    def _rows(self, batch: Any) -> Iterator[dict[str, Any] | RowError]:
        """Slices of a batch, smaller if its rows are large. Raises for a record that is too large by itself."""
        size = self._expanded(batch)
        if batch.num_rows > 1 and size > _BUDGET:
            half = batch.num_rows // 2
            yield from self._rows(batch.slice(0, half))
            yield from self._rows(batch.slice(half))
        elif size > _BUDGET and size > 4 * self._limits.line_bytes:
            yield self._too_long()
        else:
            yield from map(self._row, batch.to_pylist())

    def _expanded(self, batch: Any) -> int:
        return sum(_expanded(column, self._arrow) for column in batch.columns)

    def _too_long(self) -> RowError:
        return RowError(f"is longer than {self._limits.line_bytes} bytes", code="line_too_long")

    def _seconds(self, batch: Any) -> Any:
        """Convert times to microseconds, because Python has no nanoseconds."""
        types = self._arrow.types
        for index, field in enumerate(batch.schema):
            if types.is_timestamp(field.type) and field.type.unit == "ns":
                kind = self._arrow.timestamp("us", field.type.tz)
                batch = batch.set_column(index, field.name, batch.column(index).cast(kind, safe=False))
        return batch

    def _row(self, row: dict[str, Any]) -> dict[str, Any] | RowError:
        try:
            plain = {name: _plain(value, self._limits.depth) for name, value in row.items()}
        except RowError as bad:
            return bad
        if _size(plain) > self._limits.line_bytes:
            return self._too_long()
        unpack(plain)
        return plain


def _check_footer(file: BinaryIO) -> int:
    """The file's size in bytes. The last eight bytes are the length of the metadata and a magic number. Raises UnusableFile."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    if size < 12 or end[4:] != b"PAR1":
        raise unusable("truncated", "The Parquet file is cut off: its end is missing. Send it again.")
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER:
        raise unusable("too_many_columns", "The Parquet file's description of its columns is too large.")
    file.seek(0)
    return size


def _texts(described: Any) -> list[str]:
    """The text columns, nested ones included. They are read as dictionaries, so that each different text is in memory once.

    Otherwise a file of a few bytes that repeats one large text could fill the memory.
    """
    plain = [index for index in range(described.num_columns) if not _differences(described, index)]
    columns = [described.schema.column(index) for index in plain]
    texts = [column for column in columns if column.physical_type == "BYTE_ARRAY"]
    return [column.path for column in texts if column.logical_type.type in ("STRING", "NONE")]


def _differences(described: Any, index: int) -> bool:
    """Whether a column stores each text as the difference from the one before (delta encoding).

    Such a column has no dictionary and still holds many large texts in a few bytes.
    """
    groups = (described.row_group(group) for group in range(described.num_row_groups))
    return any("DELTA_BYTE_ARRAY" in group.column(index).encodings for group in groups)


def _expanded(column: Any, arrow: Any) -> int:
    """Bytes of the values once each is a Python object."""
    import pyarrow.compute as compute

    types = arrow.types
    if types.is_dictionary(column.type):
        lengths = compute.take(compute.binary_length(column.dictionary), column.indices)
        return int(column.indices.nbytes) + int(compute.sum(lengths).as_py() or 0)
    if types.is_struct(column.type):
        return sum(_expanded(column.field(index), arrow) for index in range(column.type.num_fields))
    if types.is_list(column.type) or types.is_large_list(column.type):
        return _expanded(column.flatten(), arrow)
    return int(column.nbytes)


def _plain(value: Any, depth: int) -> Any:
    """The value with the types of JSON. Raises RowError."""
    if value is None or type(value) is str:
        if value is not None and "\0" in value:
            raise RowError("holds a NUL character", code="bad_characters")
        return value
    if depth <= 1:
        raise RowError("is nested too deeply", code="too_deep")
    if isinstance(value, dict):
        return {str(name): _plain(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):  # a map, as Arrow returns it
            return _plain(dict(value), depth)
        return [_plain(item, depth - 1) for item in value]
    return _scalar(value, depth)


def _scalar(value: Any, depth: int) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return _plain(_text(value), depth)
    return value if isinstance(value, bool | int | float) else str(value)


def _text(value: bytes) -> str:
    """The text of a binary column. Some writers have no type for text. Raises RowError."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise RowError("holds bytes that are not UTF-8 text", code="wrong_type") from error


def _size(value: Any) -> int:
    """Approximate number of characters of the value as JSON."""
    if type(value) is str:
        return len(value)
    if type(value) is dict:
        return sum(len(name) + _size(item) for name, item in value.items())
    return sum(_size(item) for item in value) if type(value) is list else 8


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200].rstrip(".") + "."
