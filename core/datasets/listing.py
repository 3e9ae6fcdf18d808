"""The list of an owner's datasets: filters, and the order of a column."""

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Select, SQLColumnExpression, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.models import Dataset, DatasetContent, DatasetVersion
from core.paging import Page, natural, page, position, sorted_page

DatasetSort = Literal[
    "name", "-name",
    "kind", "-kind",
    "rows", "-rows",
    "size", "-size",
    "created", "-created",
]  # fmt: skip
"""The column that a list of datasets is sorted by. `-` in front: descending."""


@dataclass(frozen=True)
class DatasetFilter:
    """Conditions on the datasets of a list. All of them must hold."""

    kind: str | None = None
    external_id: str | None = None
    search: str | None = None
    """A part of the name, in any case."""
    archived: bool = False
    """Archived datasets instead of the others."""


def _of_newest(column: InstrumentedAttribute[int]) -> SQLColumnExpression[Any]:
    """A column of the content of the newest version; SQL null until that has rows."""
    newest = select(DatasetVersion.sha256).where(DatasetVersion.dataset_id == Dataset.id)
    newest = newest.order_by(DatasetVersion.number.desc()).limit(1).correlate(Dataset)
    content = select(column).where(DatasetContent.sha256 == newest.scalar_subquery())
    return content.correlate(Dataset).scalar_subquery()


_VALUES: dict[str, SQLColumnExpression[Any]] = {
    "name": natural(Dataset.name),
    "kind": Dataset.kind,
    "rows": _of_newest(DatasetContent.rows),
    "size": _of_newest(DatasetContent.bytes),
}


def list_datasets(
    session: Session,
    owner_id: str,
    wanted: DatasetFilter,
    after: str | None,
    limit: int,
    sort: DatasetSort = "-created",
) -> Page[Dataset]:
    """A page of the owner's datasets. One that no longer matches the filter remains a valid cursor. Raises InvalidRequest."""
    owned = select(Dataset).filter_by(owner_id=owner_id)
    query = _filtered(owned, wanted)
    if sort in ("created", "-created"):  # the order of an index
        start = None if after is None else position(session, owned, Dataset, after)
        return page(session, query, Dataset, start, limit, "desc" if sort == "-created" else "asc")
    by = (_VALUES[sort.removeprefix("-")], sort.startswith("-"))
    return sorted_page(session, Dataset, owned, query, by, after, limit)


def _filtered(query: Select[Dataset], wanted: DatasetFilter) -> Select[Dataset]:
    put_aside = Dataset.archived_at.is_not(None)
    query = query.where(put_aside if wanted.archived else ~put_aside)
    if wanted.kind is not None:
        query = query.filter_by(kind=wanted.kind)
    if wanted.external_id is not None:
        query = query.filter_by(external_id=wanted.external_id)
    if wanted.search is not None:
        query = query.where(Dataset.name.icontains(wanted.search, autoescape=True))
    return query
