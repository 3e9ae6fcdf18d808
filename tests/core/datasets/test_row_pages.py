"""Pages of rows, filtered by words, findings, splits and samples."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore, blob_store
from core.datasets import reports, row_pages, search, u64
from core.datasets.row_pages import Filters, RowPage
from core.errors import NotFound, SearchNotReady
from core.models import DatasetVersion, DataTask
from core.settings import get_settings
from data.schema import DatasetKind
from tests.core.factories import jsonl, make_index, make_key, make_version

TEXTS = ["the red fox", "a fox, red and quick", "der Fuchs läuft", "no animal at all", "The FOX again"]
ROWS: list[dict[str, Any]] = [{"prompt": text, "answer": "fox" if "animal" in text else None} for text in TEXTS]


@pytest.fixture
def blobs(session: Session) -> BlobStore:
    return blob_store(get_settings())


@pytest.fixture
def version(session: Session) -> DatasetVersion:
    return make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, jsonl(ROWS))


@pytest.fixture
def indexed(session: Session, version: DatasetVersion) -> DatasetVersion:
    assert version.sha256 is not None
    assert search.add(session, version.sha256, "prompts", 1, ROWS[:2])
    assert search.add(session, version.sha256, "prompts", 3, ROWS[2:])
    return version


def numbers(page: RowPage) -> list[int]:
    return [row.stored.number for row in page.rows]


def found(session: Session, blobs: BlobStore, version: DatasetVersion, **filters: Any) -> list[int]:
    page = row_pages.page(session, blobs, version, Filters(**filters), 0, 100)
    assert page.total == len(page.rows) and not page.has_more
    return numbers(page)


def report(session: Session, blobs: BlobStore, version: DatasetVersion, tmp_path: Path, *rows: int) -> str:
    """A finished report whose finding `empty` names these rows."""
    made = reports.request(session, version, {"kind": f"for {rows}"})
    made.result = {"findings": []}
    session.flush()
    (tmp_path / "rows").write_bytes(u64.packed(rows))
    blobs.put_file(reports.rows_key(made.id, "empty"), tmp_path / "rows")
    return made.id


def test_pages_follow_one_another(session: Session, blobs: BlobStore, version: DatasetVersion) -> None:
    first = row_pages.page(session, blobs, version, Filters(), 0, 2)
    assert (numbers(first), first.has_more, first.total) == ([1, 2], True, 5)
    last = row_pages.page(session, blobs, version, Filters(), 4, 2)
    assert (numbers(last), last.has_more) == ([5], False)
    assert numbers(row_pages.page(session, blobs, version, Filters(), 2**62, 2)) == []


def test_a_page_of_long_rows_ends_early(
    session: Session, blobs: BlobStore, version: DatasetVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pages, "_MOST_BYTES", 50)
    page = row_pages.page(session, blobs, version, Filters(), 0, 5)
    assert (numbers(page), page.has_more) == ([1], True)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("fox", [1, 2, 4, 5]),
        ("FOX red", [1, 2]),
        ('"red fox"', [1]),
        ("fox -red", [4, 5]),
        ("quick or läuft", [2, 3]),
        ("fo", []),
        (" ", [1, 2, 3, 4, 5]),
        ("'); DROP TABLE jobs", []),
    ],
)
def test_search_finds_words(
    session: Session, blobs: BlobStore, indexed: DatasetVersion, words: str, rows: list[int]
) -> None:
    assert found(session, blobs, indexed, search=words) == rows


@pytest.mark.parametrize("filters", [{"search": "fox"}, {"split": "eval"}])
def test_while_the_index_is_made_nothing_is_searched(
    session: Session, blobs: BlobStore, version: DatasetVersion, filters: dict[str, Any]
) -> None:
    assert version.sha256 is not None
    search.add(session, version.sha256, "prompts", 1, ROWS[:2])
    with pytest.raises(SearchNotReady):
        found(session, blobs, version, **filters)
    shown = row_pages.page(session, blobs, version, Filters(), 0, 5)
    assert [row.split for row in shown.rows] == [None] * 5


def test_search_add_of_a_finished_or_unknown_index_is_refused(session: Session, indexed: DatasetVersion) -> None:
    assert indexed.sha256 is not None
    assert not search.add(session, indexed.sha256, "prompts", 1, ROWS)
    assert not search.add(session, "0" * 64, "prompts", 1, ROWS)


def test_index_is_queued_once(session: Session, version: DatasetVersion) -> None:
    search.request(session, version)
    make_version(session, version.dataset.owner_id, DatasetKind.PROMPTS, jsonl(ROWS))
    queued = session.scalars(select(DataTask).filter_by(kind="index")).all()
    assert [task.args["sha256"] for task in queued] == [version.sha256]


def test_index_that_failed_is_queued_again(session: Session, version: DatasetVersion) -> None:
    for task in session.scalars(select(DataTask).filter_by(kind="index")).all():
        tasks.cancel(session, task)
    search.request(session, version)
    assert len(session.scalars(select(DataTask).filter_by(kind="index", status="queued")).all()) == 1


def test_search_row_above_postgres_limit_matches_its_first_words(session: Session, blobs: BlobStore) -> None:
    words = " ".join(f"w{number}ö" for number in range(300_000))
    version = make_version(
        session, make_key(session).owner_id, DatasetKind.PROMPTS, jsonl([{"prompt": f"{words} last"}])
    )
    make_index(session, version)
    assert found(session, blobs, version, search="w77ö") == [1]
    assert found(session, blobs, version, search="last") == []


def test_the_split_is_shown_and_filters(session: Session, blobs: BlobStore, indexed: DatasetVersion) -> None:
    shown = row_pages.page(session, blobs, indexed, Filters(eval_fraction=0.5), 0, 5)
    sides = {row.stored.number: row.split for row in shown.rows}
    assert set(sides.values()) == {"train", "eval"}
    for side in ("train", "eval"):
        expected = [number for number, found_side in sides.items() if found_side == side]
        assert found(session, blobs, indexed, split=side, eval_fraction=0.5) == expected


def test_rows_without_a_prompt_are_on_no_side(session: Session, blobs: BlobStore) -> None:
    version = make_version(session, make_key(session).owner_id, DatasetKind.PRETRAINING)
    make_index(session, version)
    assert found(session, blobs, version, split="train") == []
    assert [row.split for row in row_pages.page(session, blobs, version, Filters(), 0, 5).rows] == [None] * 3


def test_rows_of_a_finding(session: Session, blobs: BlobStore, indexed: DatasetVersion, tmp_path: Path) -> None:
    first = report(session, blobs, indexed, tmp_path, 1, 3, 4)
    assert found(session, blobs, indexed, finding="empty", report=first) == [1, 3, 4]
    assert found(session, blobs, indexed, finding="empty") == [1, 3, 4]
    assert found(session, blobs, indexed, finding="empty", search="fox") == [1, 4]
    page = row_pages.page(session, blobs, indexed, Filters(finding="empty"), 1, 1)
    assert (numbers(page), page.has_more, page.total) == ([3], True, 3)


@pytest.mark.parametrize(
    "filters", [{"finding": "other"}, {"finding": "../empty"}, {"finding": "empty", "report": "rep_x"}]
)
def test_a_finding_that_there_is_not(
    session: Session, blobs: BlobStore, version: DatasetVersion, tmp_path: Path, filters: dict[str, Any]
) -> None:
    report(session, blobs, version, tmp_path, 1)
    with pytest.raises(NotFound):
        found(session, blobs, version, **filters)


def test_another_version_s_report_is_none_of_this_one_s(
    session: Session, blobs: BlobStore, version: DatasetVersion, tmp_path: Path
) -> None:
    other = make_version(session, version.dataset.owner_id, DatasetKind.PROMPTS)
    theirs = report(session, blobs, other, tmp_path, 1)
    with pytest.raises(NotFound, match="no report"):
        found(session, blobs, version, finding="empty", report=theirs)
    with pytest.raises(NotFound, match="no finished report"):
        found(session, blobs, version, finding="empty")


@pytest.mark.parametrize("filters", [{}, {"search": "fox"}, {"split": "train"}])
def test_row_sample_is_determined_by_the_seed(
    session: Session, blobs: BlobStore, indexed: DatasetVersion, filters: dict[str, Any]
) -> None:
    matching = found(session, blobs, indexed, **filters)

    def sample(count: int, seed: int) -> list[int]:
        return numbers(row_pages.sample(session, blobs, indexed, Filters(**filters), count, seed))

    drawn = {seed: sample(2, seed) for seed in range(20)}
    assert all(len(rows) == 2 and rows == sorted(rows) and set(rows) <= set(matching) for rows in drawn.values())
    assert drawn == {seed: sample(2, seed) for seed in range(20)}
    assert len({tuple(rows) for rows in drawn.values()}) > 1
    assert sample(100, 1) == matching


def test_search_total_stops_at_its_limit(
    session: Session, blobs: BlobStore, indexed: DatasetVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pages, "MOST_COUNTED", 3)
    page = row_pages.page(session, blobs, indexed, Filters(search="fox"), 0, 100)
    assert (len(page.rows), page.total) == (4, None)


def test_search_queues_an_index_that_failed_before(session: Session, blobs: BlobStore, version: DatasetVersion) -> None:
    for task in session.scalars(select(DataTask).filter_by(kind="index")).all():
        tasks.cancel(session, task)
    session.commit()
    for _ in range(2):
        with pytest.raises(SearchNotReady):
            found(session, blobs, version, search="fox")
        session.rollback()
    assert len(session.scalars(select(DataTask).filter_by(kind="index", status="queued")).all()) == 1
