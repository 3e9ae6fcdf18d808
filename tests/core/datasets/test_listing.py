"""The list of datasets in the order of a column, page by page."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from sqlalchemy import delete
from sqlalchemy.orm import Session

from core.datasets.listing import DatasetFilter, DatasetSort, list_datasets
from core.errors import InvalidRequest
from core.models import Dataset, DatasetContent, DatasetVersion, Project

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def store(session: Session, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Datasets of one owner, each a minute older than the one before. `sizes`: the bytes of each version, None without rows."""
    session.execute(delete(Dataset))
    session.execute(delete(DatasetContent))
    session.merge(Project(id="own_1", name="owner"))
    session.flush()
    for number, row in enumerate(rows):
        made = Dataset(id=f"ds_{number}", owner_id="own_1", name=row["name"], kind=row.get("kind", "prompts"))
        made.created_at = NOON - timedelta(minutes=number)
        session.add(made)
        session.flush()
        for version, size in enumerate(row.get("sizes", []), 1):
            _add_version(session, made.id, version, size)
    session.flush()
    return [f"ds_{number}" for number in range(len(rows))]


def _add_version(session: Session, dataset: str, number: int, size: int | None) -> None:
    sha256 = None if size is None else f"{dataset} {number}"
    if size is not None:
        session.add(DatasetContent(sha256=sha256, rows=size, bytes=10 * size, blob_key=sha256))
        session.flush()
    values = {"number": number, "origin": {}, "findings": [], "sha256": sha256}
    ready = {"status": "importing"} if size is None else {"status": "ready", "ready_at": NOON}
    session.add(DatasetVersion(id=f"dv_{dataset}_{number}", dataset_id=dataset, **values, **ready))


def ids(session: Session, sort: DatasetSort, size: int = 100) -> list[str]:
    """The whole list, read in pages of a size."""
    found: list[str] = []
    while True:
        after = found[-1] if found else None
        page = list_datasets(session, "own_1", DatasetFilter(), after, size, sort)
        found += [one.id for one in page.items]
        if not page.has_more:
            return found


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", "ann Bob bob cat"),
        ("-name", "cat Bob bob ann"),
        ("kind", "Bob ann cat bob"),
        ("rows", "Bob cat ann bob"),
        ("-rows", "cat Bob ann bob"),
        ("-size", "cat Bob ann bob"),
        ("created", "bob ann cat Bob"),
        ("-created", "Bob cat ann bob"),
    ],
)
def test_datasets_are_sorted_with_absent_values_last(session: Session, sort: DatasetSort, expected: str) -> None:
    rows: list[dict[str, Any]] = [
        {"name": "Bob", "kind": "preferences", "sizes": [9, 1]},
        {"name": "cat", "kind": "prompts", "sizes": [2]},
        {"name": "ann", "kind": "preferences", "sizes": [5, None]},
        {"name": "bob", "kind": "sft"},
    ]
    names = dict(zip(store(session, rows), ("Bob", "cat", "ann", "bob"), strict=True))
    assert " ".join(names[one] for one in ids(session, sort)) == expected


def test_numbers_in_names_are_sorted_by_their_values(session: Session) -> None:
    store(session, [{"name": name} for name in ("pairs 10", "Pairs 9", "pairs 100")])
    assert ids(session, "name") == ["ds_1", "ds_0", "ds_2"]


ROWS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "A", "b2", "b10", "B02", "ä"]),
        "kind": st.sampled_from(["sft", "prompts"]),
        "sizes": st.lists(st.sampled_from([None, 1, 2]), max_size=2),
    }
)


@limits(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_joined_pages_are_the_whole_list(session: Session, data: st.DataObject) -> None:
    stored = store(session, data.draw(st.lists(ROWS, max_size=10)))
    for sort in get_args(DatasetSort):
        whole = ids(session, sort)
        assert sorted(whole) == sorted(stored), sort
        assert ids(session, sort, size=data.draw(st.integers(1, 4))) == whole, sort
    session.rollback()


def test_cursor_outside_the_filter_is_valid_and_unknown_is_not(session: Session) -> None:
    first, second = store(session, [{"name": "a", "kind": "sft"}, {"name": "b"}])
    page = list_datasets(session, "own_1", DatasetFilter(kind="prompts"), first, 9, "name")
    assert [one.id for one in page.items] == [second]
    with pytest.raises(InvalidRequest, match="no such item"):
        list_datasets(session, "own_1", DatasetFilter(), "ds_other", 9, "name")
