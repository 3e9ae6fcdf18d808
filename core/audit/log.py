"""Reads the audit log of a project: pages, newest first, and all rows for an export, oldest first."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core.audit.chain import moment
from core.models import AuditRow
from core.paging import Order, Page, unknown_cursor

PREFIX = "aud_"
COLUMNS = tuple(column.name for column in AuditRow.__table__.columns)
_PAGE = 500
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet run a cell."""


@dataclass(frozen=True)
class AuditFilter:
    """The wanted rows. None does not filter."""

    actor: str | None = None
    """The id of a user or of a key."""
    action: str | None = None
    object_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """The moment before which they were written."""


def page(
    session: Session, project_id: str, wanted: AuditFilter, after: str | None, limit: int, order: Order
) -> Page[Any]:
    """At most `limit` rows behind the one with the id `after`. Raises InvalidRequest for another text than an id."""
    query = _query(project_id, wanted)
    if after is not None:
        number = after.removeprefix(PREFIX)
        if not after.startswith(PREFIX) or not number.isdecimal() or len(number) > 18 or not number.isascii():
            raise unknown_cursor()
        query = query.where(AuditRow.number > int(number) if order == "asc" else AuditRow.number < int(number))
    key = AuditRow.number.asc() if order == "asc" else AuditRow.number.desc()
    rows = session.scalars(query.order_by(key).limit(limit + 1)).all()
    return Page(rows[:limit], len(rows) > limit)


def _query(project_id: str, wanted: AuditFilter) -> Select[AuditRow]:
    query = select(AuditRow).where(AuditRow.project_id == project_id)
    if wanted.actor is not None:
        query = query.where((AuditRow.user_id == wanted.actor) | (AuditRow.key_id == wanted.actor))
    if wanted.action is not None:
        query = query.where(AuditRow.action == wanted.action)
    if wanted.object_id is not None:
        query = query.where(AuditRow.object_id == wanted.object_id)
    if wanted.since is not None:
        query = query.where(AuditRow.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(AuditRow.at < wanted.until)
    return query


Scope = Callable[[], AbstractContextManager[Session]]


def every_row(scope: Scope, project_id: str, wanted: AuditFilter) -> Iterator[Sequence[AuditRow]]:
    """All rows that were written before the first page is read, some hundred at a time. Each page has a transaction of its own.

    `scope`: opens a transaction. So a slow client holds none.
    """
    query, after = _query(project_id, wanted), 0
    with scope() as session:
        newest = select(AuditRow.number).where(AuditRow.project_id == project_id).order_by(AuditRow.number.desc())
        last = session.scalars(newest.limit(1)).first()
    while last is not None:
        with scope() as session:
            found = session.scalars(
                query.where(AuditRow.number > after, AuditRow.number <= last).order_by(AuditRow.number).limit(_PAGE)
            ).all()
        if found:
            yield found
            after = found[-1].number
        if len(found) < _PAGE:
            return


def as_jsonl(pages: Iterator[Sequence[AuditRow]]) -> Iterator[str]:
    """A JSON object a line, with the fields that the hash covers."""
    for rows in pages:
        yield "".join(json.dumps(_fields(row), ensure_ascii=False) + "\n" for row in rows)


def as_csv(pages: Iterator[Sequence[AuditRow]]) -> Iterator[str]:
    """A head line, then a line for each row; the changes are JSON. A cell that a spreadsheet would run begins with an apostrophe."""
    yield _csv([COLUMNS])
    for rows in pages:
        yield _csv([[_cell(value) for value in _fields(row).values()] for row in rows])


def _fields(row: AuditRow) -> Mapping[str, Any]:
    fields = {name: getattr(row, name) for name in COLUMNS}
    return fields | {"at": moment(row.at)}


def _cell(value: Any) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(lines: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()
