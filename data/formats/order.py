"""Obeys a column that states which side of a pair is better, beside columns whose names state it already."""

from collections.abc import Collection
from typing import Any

from data.errors import RowError
from data.formats.base import Rated, Reading, Row, Source
from data.names import ORDER_COLUMNS as COLUMNS
from data.verdicts import number_of, plain_word

__all__ = ["COLUMNS", "obeyed", "stated"]
_TIES = frozenset({"tie", "both", "both_good", "both_bad", "bothbad", "neither", "equal", "same", "tie_(bothbad)"})


def obeyed(record: Source, columns: Collection[str], row: Row | Rated, reading: Reading) -> Row | Rated:
    """The row with the label that one of these columns states: `rejected` exchanges the sides.

    Raises RowError for a value that may contradict the sides, unless the user named the format.
    """
    for name in columns:
        value = record.get(name)
        side = stated(value)
        if side == "a" or value in (None, "") or isinstance(value, list | dict) or isinstance(row, Rated):
            continue
        if side is not None and ("a" in row or "chosen" in row):
            return _relabelled(row, side)
        if not reading.named:
            detail = f"holds {str(value)[:40]!r}, which may contradict that the other columns name the better answer: map the columns, or ignore `{name}`"
            raise RowError(detail, pointer=f"/{name}", code="bad_label")
    return row


def stated(value: Any) -> str | None:
    """ "a" where the value confirms the chosen side, "b" for the rejected one, "tie", or None if it is not clear."""
    word = plain_word(value) if isinstance(value, str) else ""
    if word == "chosen" or value is True or number_of(value) == 1 or word == "true":
        return "a"
    return "b" if word == "rejected" else "tie" if word in _TIES else None


def _relabelled(row: Row, side: str) -> Row:
    rest = {
        name: value for name, value in row.items() if name not in ("chosen", "rejected", "a", "b", "label", "margin")
    }
    first, second = ("chosen", "rejected") if "chosen" in row else ("a", "b")
    return rest | {"a": row[first], "b": row[second], "label": side}
