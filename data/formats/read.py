"""Reads one record in a format: selects the columns, puts the system message before the prompt."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from data.formats import chat, custom, order
from data.formats.base import Format, Rated, Reading, Row, Source
from data.schema import DatasetKind
from data.spelling import Names


def read(value: Source, known: Format, columns: Names, reading: Reading) -> Iterable[Row | Rated]:
    """The rows of a record. The reader receives the columns that the plan declares, and no others. Raises RowError.

    The system message of the record is put before its prompt. Under a mapping, the mapping names the column of the
    system message.
    """
    record = columns.select(value)
    if reading.kind is not DatasetKind.PROMPTS:
        chat.note_reasoning(record, reading)
    if known is custom.FORMAT:
        return known.rows(record, reading)
    record = chat.readable(record)
    rows, system = known.rows(record, reading), record.get("system")
    if isinstance(system, str) and system.strip():
        rows = [_behind(system, row, reading) for row in rows]
    if not known.sides_named or order.COLUMNS.isdisjoint(record):
        return rows
    return [order.obeyed(record, order.COLUMNS - known.fields, row, reading) for row in rows]


def _behind(system: str, row: Row | Rated, reading: Reading) -> Row | Rated:
    """The row with the system message before its prompt. Note it if the conversation has another one, which is used."""
    if isinstance(row, Rated):
        return replace(row, prompt=_said(chat.with_system(system, row.prompt), system, reading))
    names = [name for name in ("prompt", "messages") if row.get(name)]
    return row | {name: _said(chat.with_system(system, row[name]), system, reading) for name in names}


def _said(turns: Any, system: str, reading: Reading) -> Any:
    if isinstance(turns, list) and turns and turns[0]["role"] == "system" and system.strip() not in turns[0]["content"]:
        reading.note(
            "system_ignored", "the conversation has another system message than the one beside it; its own was used"
        )
    return turns
