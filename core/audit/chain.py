"""The chain of a project's rows: each row's hash covers the row and the hash of the row before it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_leave

from core.models import AuditChain, AuditRow

_ROW = AuditRow.__table__.c
_COVERED = tuple(name for name in _ROW.keys() if name != "hash")  # noqa: SIM118  (columns, not a mapping)
_PAGE = 1000


def hash_of(row: Mapping[str, Any], previous: str) -> str:
    """SHA-256 of the hash before and the row's columns, as JSON with sorted names, without spaces, in UTF-8.

    `previous`: the hash of the row before; empty for the first one. Times are RFC 3339 in UTC with microseconds.
    """
    covered = {name: row[name] for name in _COVERED} | {"at": moment(row["at"]), "previous": previous}
    text = json.dumps(covered, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def moment(at: datetime) -> str:
    """The time as the hash covers it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def append(connection: Connection, values: Mapping[str, Any]) -> None:
    """Append a row to the chain of `values["project_id"]`. The chain stays locked until the transaction ends, so do it last."""
    project_id = values["project_id"]
    head = select(AuditChain.number, AuditChain.hash, func.clock_timestamp().label("at"))
    head = head.where(AuditChain.project_id == project_id).with_for_update()
    found = connection.execute(head).one_or_none()
    if found is None:
        connection.execute(insert_or_leave(AuditChain).values(project_id=project_id).on_conflict_do_nothing())
        found = connection.execute(head).one()
    row = {**values, "number": found.number + 1, "at": found.at}
    row["hash"] = hash_of(row, found.hash)
    # One statement, so that the lock is held for one round trip less.
    returned = (AuditRow.project_id, AuditRow.number, AuditRow.hash)
    appended = insert(AuditRow).values(row).returning(*returned).cte("appended")
    moved = update(AuditChain).where(AuditChain.project_id == appended.c.project_id)
    connection.execute(moved.values(number=appended.c.number, hash=appended.c.hash))


@dataclass(frozen=True)
class Broken:
    """The first row of a chain that is not as it was written."""

    number: int
    reason: str
    """A sentence for people."""


@dataclass(frozen=True)
class Verification:
    """The result of a check of a chain."""

    rows: int
    """Rows that were checked, up to the broken one."""
    first: int | None
    """Number of the oldest row; None without a row."""
    last: int
    """Number of the newest row that was written; 0 before the first one."""
    hash: str
    """The hash of that row. A copy of it elsewhere shows later that no row up to it was changed."""
    broken: Broken | None


def verify(connection: Connection, project_id: str) -> Verification:
    """Compare each row with its hash, and the rows with the ends of the chain. `connection` must see one state: REPEATABLE READ."""
    chain = connection.execute(select(AuditChain.__table__).where(AuditChain.project_id == project_id)).one_or_none()
    number, previous = (chain.anchor_number, chain.anchor_hash) if chain else (0, "")
    first, checked, broken = None, 0, None
    for row in _rows(connection, project_id):
        first = row["number"] if first is None else first
        broken = _fault(row, number, previous)
        if broken is not None:
            break
        number, previous, checked = row["number"], row["hash"], checked + 1
    else:
        broken = _fault_of_end(number, previous, chain)
    return Verification(checked, first, chain.number if chain else number, chain.hash if chain else previous, broken)


def _rows(connection: Connection, project_id: str) -> Iterator[Any]:
    after = -1
    while True:
        query = select(AuditRow.__table__).where(_ROW.project_id == project_id, _ROW.number > after)
        found = connection.execute(query.order_by(_ROW.number).limit(_PAGE)).mappings().all()
        yield from found
        if len(found) < _PAGE:
            return
        after = found[-1]["number"]


def _fault(row: Mapping[str, Any], before: int, previous: str) -> Broken | None:
    if row["number"] != before + 1:
        return Broken(before + 1, f"Row {before + 1} is missing: row {row['number']} follows row {before}.")
    if hash_of(row, previous) != row["hash"]:
        return Broken(row["number"], f"Row {row['number']} is not as it was written: its hash does not fit.")
    return None


def _fault_of_end(number: int, previous: str, chain: Any) -> Broken | None:
    if chain is None:
        return Broken(number, "The head of the chain is missing.") if number else None
    if number < chain.number:
        return Broken(number + 1, f"Row {number + 1} is missing: {chain.number} rows were written.")
    if (number, previous) != (chain.number, chain.hash):
        return Broken(number, f"Row {number} is not the one that was written last.")
    return None
