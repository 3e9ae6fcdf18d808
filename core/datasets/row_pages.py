"""Pages of a version's rows, filtered or sampled, for the rows view and its API route."""

import random
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson
from sqlalchemy import ARRAY, BigInteger, Select, any_, cast, func, select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets import number_files, reports, search, splits, u64
from core.datasets.rows import StoredRow, content_of, read_stored
from core.errors import NotFound, SearchNotReady
from core.models import DatasetReport, DatasetRow, DatasetVersion

MOST_COUNTED = 10_000
"""Most matches that are counted, since counting takes time."""
_MOST_BYTES = 16 * 1024**2
"""Most bytes of a page. A page of long rows has fewer rows than asked for."""
_CODE = re.compile("[a-z0-9_]{1,100}")


@dataclass(frozen=True)
class Filters:
    """A selection of rows. A row must match every filter that is set."""

    search: str | None = None
    """Words, as `"a phrase" or word -without`."""
    finding: str | None = None
    """Code of a finding of a report."""
    report: str | None = None
    """Id of the report; None: the newest of the version."""
    split: splits.SplitName | None = None
    eval_fraction: float = splits.EVAL_FRACTION


@dataclass(frozen=True)
class ShownRow:
    """A row and its side of the split; None without a prompt, or while the rows are not indexed."""

    stored: StoredRow
    split: splits.SplitName | None


@dataclass(frozen=True)
class RowPage:
    """Rows of one page. `total` is the number of all matching rows; None: more than MOST_COUNTED."""

    rows: list[ShownRow]
    has_more: bool
    total: int | None


def page(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, after: int, limit: int
) -> RowPage:
    """At most `limit` matching rows after number `after`. Raises NotFound and SearchNotReady."""
    with _matches(session, blobs, version, filters) as matches:
        numbers, count = matches.after(after, limit + 1), matches.count()
    shown = _read_rows(session, blobs, version, filters, numbers[:limit])
    return RowPage(shown, len(numbers) > len(shown), count)


def sample(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, count: int, seed: int
) -> RowPage:
    """A random sample of `count` matching rows, in order. Equal seeds give equal samples. Raises as `page`."""
    with _matches(session, blobs, version, filters) as matches:
        numbers, total = sorted(matches.sample(count, seed)), matches.count()
    return RowPage(_read_rows(session, blobs, version, filters, numbers), False, total)


class _KnownNumbers:
    """Matching row numbers that are known without the search index."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def after(self, after: int, limit: int) -> Sequence[int]:
        start = bisect_right(self._numbers, after)
        return self._numbers[start : start + limit]

    def count(self) -> int | None:
        return len(self._numbers)

    def sample(self, count: int, seed: int) -> Sequence[int]:
        return random.Random(seed).sample(self._numbers, min(count, len(self._numbers)))


class _Query:
    """Matching row numbers that the search index finds."""

    def __init__(self, session: Session, query: Select[Any]) -> None:
        self._session, self._query = session, query

    def after(self, after: int, limit: int) -> Sequence[int]:
        query = self._query.where(DatasetRow.row > after).order_by(DatasetRow.row).limit(limit)
        return self._session.scalars(query).all()

    def count(self) -> int | None:
        some = self._query.limit(MOST_COUNTED + 1).subquery()
        found = self._session.scalars(select(func.count()).select_from(some)).one()
        return found if found <= MOST_COUNTED else None

    def sample(self, count: int, seed: int) -> Sequence[int]:
        shuffled = func.hashint8extended(DatasetRow.row, seed), DatasetRow.row
        return self._session.scalars(self._query.order_by(*shuffled).limit(count)).all()


@contextmanager
def _matches(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters
) -> Iterator[_KnownNumbers | _Query]:
    if filters.finding is None:
        yield _among(session, version, filters, range(1, content_of(version).rows + 1))
        return
    with _rows_of_finding(session, blobs, version, filters.finding, filters.report) as file:
        yield _among(session, version, filters, u64.Stored(file))


def _among(
    session: Session, version: DatasetVersion, filters: Filters, numbers: Sequence[int]
) -> _KnownNumbers | _Query:
    """The matches among the rows with these numbers. Raises SearchNotReady."""
    content = content_of(version)
    words = (filters.search or "").strip() or None
    if words is None and filters.split is None:
        return _KnownNumbers(numbers)
    try:
        query = search.matching(content, words)
    except SearchNotReady:
        search.request_again(version.id)
        raise
    if filters.split is not None:
        rule = splits.split(session, content, filters.eval_fraction)
        if rule is None:
            return _KnownNumbers([])
        query = query.where(rule.where(filters.split))
    if filters.finding is not None:
        query = query.where(DatasetRow.row == any_(cast(list(numbers[:]), ARRAY(BigInteger))))
    return _Query(session, query)


def _rows_of_finding(
    session: Session, blobs: BlobStore, version: DatasetVersion, code: str, report_id: str | None
) -> BinaryIO:
    """The stored row numbers of a report's finding, ascending. Raises NotFound and DatasetDamaged."""
    report = session.get(DatasetReport, report_id) if report_id else reports.newest(session, version)
    if report is None or report.version_id != version.id:
        which = f"report {report_id!r}" if report_id else "finished report"
        raise NotFound(f"Version {version.number} of {version.dataset_id} has no {which}.")
    if not _CODE.fullmatch(code):
        raise NotFound(f"There is no finding {code!r}.")
    key = reports.rows_key(report.id, code)
    if not number_files.is_stored(blobs, key, report.number_files, code):
        raise NotFound(f"{report.id} has no rows of a finding {code!r}.")
    return blobs.open(key)


def _read_rows(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, numbers: Sequence[int]
) -> list[ShownRow]:
    """The rows with these numbers, in order. Long rows end the list early."""
    content = content_of(version)
    kind = version.dataset.kind
    try:
        rule = splits.split(session, content, filters.eval_fraction)
    except SearchNotReady:
        rule = None
    shown: list[ShownRow] = []
    size = 0
    for stored in read_stored(blobs, version, numbers):
        size += len(orjson.dumps(stored.row))
        if shown and size > _MOST_BYTES:
            break
        side = None if rule is None else rule.side_of(splits.stored_hash(kind, stored.row))
        shown.append(ShownRow(stored, side))
    return shown
