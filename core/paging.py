"""Pages of a list by cursor. The cursor is the id of the last item of the page before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, func, literal, or_, select, tuple_
from sqlalchemy.orm import Session

from core.errors import InvalidRequest
from core.models import (
    AnnotationRound,
    Checkpoint,
    Dataset,
    DatasetReport,
    DatasetVersion,
    Job,
    JobCommand,
    JobFinding,
    JobGroup,
    JobTemplate,
    Project,
    SampleNote,
    Upload,
    Webhook,
    WebhookDelivery,
)

Order = Literal["asc", "desc"]
T = TypeVar(
    "T",
    bound=Job
    | JobCommand
    | JobFinding
    | JobGroup
    | JobTemplate
    | Dataset
    | DatasetVersion
    | DatasetReport
    | Checkpoint
    | SampleNote
    | Project
    | Upload
    | AnnotationRound
    | Webhook
    | WebhookDelivery,
)


@dataclass(frozen=True)
class Page(Generic[T]):
    """Items of a list, and whether more follow."""

    items: Sequence[T]
    has_more: bool


Position = tuple[datetime, str]
"""Creation time and id of an item."""


def unknown_cursor() -> InvalidRequest:
    """The error for an `after` that is the id of no item of the list."""
    detail = "there is no such item in this list"
    return InvalidRequest(f"`after`: {detail}.", param="after", errors=[{"pointer": "?after", "detail": detail}])


def position(session: Session, query: Select[T], model: Any, after: str) -> Position:
    """The position of the row with the id `after` among those of `query`. Raises InvalidRequest for an unknown one."""
    seen = session.execute(query.where(model.id == after)).scalar_one_or_none()
    if seen is None:
        raise unknown_cursor()
    return seen.created_at, seen.id


def page(
    session: Session, query: Select[T], model: Any, after: str | Position | None, limit: int, order: Order
) -> Page[T]:
    """At most `limit` rows of `query` after the row with the id `after`, ordered by creation time.

    New rows do not shift a page, as they would with an offset. Raises InvalidRequest for an unknown `after`.
    """
    key = tuple_(model.created_at, model.id)
    if isinstance(after, str):
        after = position(session, query, model, after)
    if after is not None:
        last = tuple_(*after)
        query = query.where(key > last if order == "asc" else key < last)
    columns = (model.created_at, model.id) if order == "asc" else (model.created_at.desc(), model.id.desc())
    rows = session.scalars(query.order_by(*columns).limit(limit + 1)).all()
    return Page(rows[:limit], len(rows) > limit)


_DIGITS = 30


def natural(text: SQLColumnExpression[Any]) -> SQLColumnExpression[Any]:
    """A sort key for names: no difference of case, and numbers by their values, so that `run-2` comes before `run-10`.

    Each number is padded with zeros. Digits after a decimal point stay as they are: `0.05` comes before `0.1`. PostgreSQL's
    own numeric collations need ICU, without which the embedded server is built.
    """
    padded = func.regexp_replace(func.lower(text), r"(?<!\d)(?<!\d\.)(\d+)", rf"{'0' * _DIGITS}\1", "g")
    return func.regexp_replace(padded, rf"0*(\d{{{_DIGITS}}})", r"\1", "g")


def sorted_page(
    session: Session,
    model: Any,
    rows: Select[T],
    wanted: Select[T],
    by: tuple[SQLColumnExpression[Any], bool],
    after: str | None,
    limit: int,
    first_of: SQLColumnExpression[Any] | None = None,
) -> Page[T]:
    """At most `limit` of the `wanted` rows in the order of a value, those without it last. `by`: the value, and whether it descends.

    Equal ones follow each other newest first, whatever the direction. `after` is the id of one of `rows`. Raises
    InvalidRequest for any other one. `first_of`: of the rows with the same value of it, only the first in this order.
    """
    value, descending = by
    # Materialised, because some values are subqueries, and the conditions below name the value several times.
    columns = wanted.with_only_columns(model.id, model.created_at, value.label("value"))
    if first_of is not None:
        ranked = columns.add_columns(first_of.label("of")).subquery()
        order = (ranked.c.value.desc() if descending else ranked.c.value.asc()).nulls_last()
        newest = (ranked.c.created_at.desc(), ranked.c.id.desc())
        rank = func.row_number().over(partition_by=ranked.c.of, order_by=(order, *newest)).label("place")
        numbered = select(ranked, rank).subquery()
        columns = select(numbered.c.id, numbered.c.created_at, numbered.c.value).where(numbered.c.place == 1)
    keys = columns.cte().prefix_with("MATERIALIZED")
    query = select(keys.c.id)
    if after is not None:
        place = rows.where(model.id == after).with_only_columns(value, model.created_at, model.id)
        seen = session.execute(place).one_or_none()
        if seen is None:
            raise unknown_cursor()
        query = query.where(_follows(keys.c, descending, *seen))
    order = (keys.c.value.desc() if descending else keys.c.value.asc()).nulls_last()
    ids = session.scalars(query.order_by(order, keys.c.created_at.desc(), keys.c.id.desc()).limit(limit + 1)).all()
    rows_by_id = {row.id: row for row in session.scalars(select(model).where(model.id.in_(ids[:limit])))}
    return Page([rows_by_id[one] for one in ids if one in rows_by_id], len(ids) > limit)


def _follows(key: Any, descending: bool, value: Any, created_at: datetime, id_: str) -> ColumnElement[bool]:
    """Whether a row with the columns `key` comes after the one with the values."""
    older = tuple_(key.created_at, key.id) < tuple_(created_at, id_)
    if value is None:
        return and_(key.value.is_(None), older)
    last = literal(value, key.value.type)
    further = key.value < last if descending else key.value > last
    return or_(further, and_(key.value == last, older), key.value.is_(None))
