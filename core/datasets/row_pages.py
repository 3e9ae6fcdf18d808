"""Rows of a version for people to look at: page by page, filtered, or some at random."""

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
from core.datasets import reports, search, splits, u64
from core.datasets.rows import StoredRow, content_of, read_stored
from core.errors import NotFound, SearchNotReady
from core.models import DatasetReport, DatasetRow, DatasetVersion

MOST_COUNTED = 10_000
"""Most matches that are counted: counting takes time, and no page lies beyond them."""
_MOST_BYTES = 16 * 1024**2
"""A page of long rows ends early."""
_CODE = re.compile("[a-z0-9_]{1,100}")


@dataclass(frozen=True)
class Filters:
    """Which rows; everything that is given must hold."""

    search: str | None = None
    """Words, as `"a phrase" or word -without`."""
    finding: str | None = None
    """Code of a finding of a report."""
    report: str | None = None
    """Which report; None: the newest of the version."""
    split: splits.SplitName | None = None
    eval_fraction: float = splits.EVAL_FRACTION


@dataclass(frozen=True)
class ShownRow:
    """A row, and on which side of the split it lies: None where it has no prompt, or where that is not known yet."""

    stored: StoredRow
    split: splits.SplitName | None


@dataclass(frozen=True)
class RowPage:
    """`total`: how many rows match; None: more than MOST_COUNTED."""

    rows: list[ShownRow]
    has_more: bool
    total: int | None


def page(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, after: int, limit: int
) -> RowPage:
    """The `limit` matching rows behind number `after`. Raises NotFound, SearchNotReady."""
    with _matches(session, blobs, version, filters) as matches:
        numbers, count = matches.behind(after, limit + 1), matches.count()
    shown = _shown(session, blobs, version, filters, numbers[:limit])
    return RowPage(shown, len(numbers) > len(shown), count)


def sample(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, count: int, seed: int
) -> RowPage:
    """`count` of the matching rows at random, in order; the same for the same seed."""
    with _matches(session, blobs, version, filters) as matches:
        numbers, total = sorted(matches.sample(count, seed)), matches.count()
    return RowPage(_shown(session, blobs, version, filters, numbers), False, total)


class _Numbers:
    """Row numbers that are known without the database."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def behind(self, after: int, limit: int) -> Sequence[int]:
        start = bisect_right(self._numbers, after)
        return self._numbers[start : start + limit]

    def count(self) -> int | None:
        return len(self._numbers)

    def sample(self, count: int, seed: int) -> Sequence[int]:
        return random.Random(seed).sample(self._numbers, min(count, len(self._numbers)))


class _Query:
    """Row numbers that the search index finds."""

    def __init__(self, session: Session, query: Select[Any]) -> None:
        self._session, self._query = session, query

    def behind(self, after: int, limit: int) -> Sequence[int]:
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
) -> Iterator[_Numbers | _Query]:
    if filters.finding is None:
        yield _among(session, version, filters, range(1, content_of(version).rows + 1))
        return
    with _rows_of_finding(session, blobs, version, filters.finding, filters.report) as file:
        yield _among(session, version, filters, u64.Stored(file))


def _among(session: Session, version: DatasetVersion, filters: Filters, numbers: Sequence[int]) -> _Numbers | _Query:
    """Those of the rows with these numbers, which are all that a finding leaves."""
    content = content_of(version)
    words = (filters.search or "").strip() or None
    if words is None and filters.split is None:
        return _Numbers(numbers)
    try:
        query = search.matching(content, words)
    except SearchNotReady:
        search.request_again(version.id)
        raise
    if filters.split is not None:
        rule = splits.split(session, content, filters.eval_fraction)
        if rule is None:
            return _Numbers([])
        query = query.where(rule.where(filters.split))
    if filters.finding is not None:
        query = query.where(DatasetRow.row == any_(cast(list(numbers[:]), ARRAY(BigInteger))))
    return _Query(session, query)


def _rows_of_finding(
    session: Session, blobs: BlobStore, version: DatasetVersion, code: str, report_id: str | None
) -> BinaryIO:
    """The numbers of whatever rows a report's finding is about, ascending."""
    report = session.get(DatasetReport, report_id) if report_id else reports.newest(session, version)
    if report is None or report.version_id != version.id:
        which = f"report {report_id!r}" if report_id else "finished report"
        raise NotFound(f"Version {version.number} of {version.dataset_id} has no {which}.")
    if not _CODE.fullmatch(code):
        raise NotFound(f"There is no finding {code!r}.")
    try:
        return blobs.open(reports.rows_key(report.id, code))
    except NotFound as error:
        raise NotFound(f"{report.id} has no rows of a finding {code!r}.") from error


def _shown(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: Filters, numbers: Sequence[int]
) -> list[ShownRow]:
    """In order; fewer than asked for where they are long."""
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
        side = None if rule is None else rule.of(splits.stored_hash(kind, stored.row))
        shown.append(ShownRow(stored, side))
    return shown
