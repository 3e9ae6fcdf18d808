"""Concurrent changes to one dataset."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.datasets import retention, row_store
from core.datasets.row_store import RowsDraft, drafting
from core.db import session_scope
from core.errors import DatasetInUse, NotFound
from core.jobs.submission.submit import submit_job
from core.models import Dataset, DatasetContent
from core.settings import get_settings
from tests.core.factories import make_dataset, make_key
from tests.waiting import eventually
from trainer.spec import JobSpec

Meanwhile = Callable[[Callable[[Session], object]], Future[None]]


@pytest.fixture
def dataset(session: Session) -> Dataset:
    made = make_dataset(session, make_key(session).owner_id)
    session.commit()
    return made


@pytest.fixture
def meanwhile(session: Session) -> Iterator[Meanwhile]:
    """Calls a function in another transaction, and returns once that waits for a lock of this one."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    def work(verb: Callable[[Session], object]) -> None:
        with session_scope() as other:
            verb(other)

    def waits() -> bool:
        with session_scope() as looking:  # a new one each time, since a transaction sees one snapshot of the activity
            return bool(looking.execute(waiting).scalar_one())

    def begin(verb: Callable[[Session], object]) -> Future[None]:
        done = pool.submit(work, verb)
        eventually(waits)
        return done

    with ThreadPoolExecutor(1) as pool:
        yield begin
        session.rollback()  # after a failure, the other thread must not wait for ever


def _create(session: Session, dataset: Dataset) -> None:
    spec = {"model": "some/model", "data": {"preferences": dataset.id}, "ppo": {}}
    submit_job(session, dataset.owner_id, JobSpec.model_validate(spec))


def _delete(session: Session, dataset: Dataset) -> None:
    retention.delete(session, blob_store(get_settings()), dataset.id)


def test_race_second_delete_of_a_dataset_is_not_found(session: Session, dataset: Dataset, meanwhile: Meanwhile) -> None:
    _delete(session, dataset)
    second = meanwhile(lambda other: _delete(other, dataset))
    session.commit()
    with pytest.raises(NotFound, match=dataset.id):
        second.result(10)


def test_a_job_whose_dataset_is_being_deleted_finds_nothing(
    session: Session, dataset: Dataset, meanwhile: Meanwhile
) -> None:
    _delete(session, dataset)
    job = meanwhile(lambda other: _create(other, dataset))
    session.commit()
    with pytest.raises(NotFound) as refusal:
        job.result(10)
    assert refusal.value.extras["param"] == "data.preferences"


def test_a_dataset_whose_job_is_being_created_stays(session: Session, dataset: Dataset, meanwhile: Meanwhile) -> None:
    _create(session, dataset)
    deleted = meanwhile(lambda other: _delete(other, dataset))
    session.commit()
    with pytest.raises(DatasetInUse):
        deleted.result(10)


@pytest.fixture
def draft(tmp_path: Path) -> Iterator[RowsDraft]:
    with drafting(tmp_path / "scratch") as out:
        out.add(1, {"prompt": "of two at once"})
        yield out.finish()


def test_race_second_put_of_the_same_rows_reuses_the_first(
    session: Session, draft: RowsDraft, meanwhile: Meanwhile
) -> None:
    blobs = blob_store(get_settings())
    mine = row_store.put(session, blobs, draft)
    second = meanwhile(lambda other: row_store.put(other, blobs, draft))
    session.commit()
    second.result(10)
    assert session.scalars(select(DatasetContent.sha256)).all() == [mine.sha256]
    assert blobs.exists(mine.blob_key)


def test_race_put_during_release_stores_the_rows_again(
    session: Session, draft: RowsDraft, meanwhile: Meanwhile
) -> None:
    blobs = blob_store(get_settings())
    row_store.put(session, blobs, draft)
    session.commit()
    row_store.release(session, blobs, [draft.sha256])
    again = meanwhile(lambda other: row_store.put(other, blobs, draft))
    session.commit()
    again.result(10)
    # The function after the commit of a removal checks again, and finds that the rows are needed.
    for call in session.info.pop("after_commit"):
        call()
    with session_scope() as looking:
        content = looking.get_one(DatasetContent, draft.sha256)
    assert blobs.exists(content.blob_key)
