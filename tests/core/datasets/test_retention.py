"""Deleting datasets with their rows, reports and blobs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.blobs import BlobStore, blob_store
from core.datasets import reports, retention, search
from core.db import session_scope
from core.errors import DatasetInUse, InvalidRequest, NotFound
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import Dataset, DatasetContent, DatasetRow, DatasetVersion, DataTask, Job
from core.settings import Settings, get_settings
from data.schema import DatasetKind
from tests.core.factories import dataset_id_of, make_job, make_key, make_version
from worker.sweeper import sweep_data

FILE = b'\n{"prompt": "p"}'
ROW = [{"prompt": "p"}]


@pytest.fixture
def blobs(session: Session) -> BlobStore:
    return blob_store(get_settings())


@pytest.fixture
def version(session: Session) -> DatasetVersion:
    made = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, FILE)
    session.commit()
    return made


def delete(dataset_id: str) -> None:
    with session_scope() as session:
        retention.delete(session, blob_store(get_settings()), dataset_id)


def stored(blobs: BlobStore) -> list[str]:
    return [key for folder in ("contents", "versions", "reports") for key in blobs.list(folder)]


def test_delete_removes_everything_of_a_dataset(
    session: Session, blobs: BlobStore, version: DatasetVersion, tmp_path: Path
) -> None:
    assert version.sha256 is not None
    search.add(session, version.sha256, "prompts", 1, ROW)
    (tmp_path / "rows").write_bytes(b"")
    blobs.put_file(reports.rows_key(reports.request(session, version).id, "empty"), tmp_path / "rows")
    session.commit()
    assert len(stored(blobs)) == 4
    delete(version.dataset_id)
    for model in (Dataset, DatasetVersion, DatasetContent, DatasetRow):
        assert session.scalar(select(func.count()).select_from(model)) == 0
    assert stored(blobs) == []
    assert set(session.scalars(select(DataTask.status))) == {"cancelled"}


def test_retention_shared_rows_stay_and_are_indexed_again(
    session: Session, blobs: BlobStore, version: DatasetVersion
) -> None:
    other = make_version(session, make_key(session).owner_id, DatasetKind.PROMPTS, FILE)
    session.commit()
    delete(version.dataset_id)
    assert blobs.exists(f"contents/{version.sha256}/rows.jsonl")
    assert not blobs.exists(f"versions/{version.id}/lines.u64") and blobs.exists(f"versions/{other.id}/lines.u64")
    (task,) = session.scalars(select(DataTask).filter_by(kind="index", status="queued"))
    assert task.args["dataset"] == other.dataset_id
    delete(other.dataset_id)
    assert stored(blobs) == []


def test_a_dataset_stays_while_an_unfinished_job_uses_it(session: Session) -> None:
    job = make_job(session)
    dataset_id = dataset_id_of(job)
    with pytest.raises(DatasetInUse, match=job.id) as refusal:
        delete(dataset_id)
    assert refusal.value.extras["jobs"] == [job.id]
    request(session, job, Request.CANCEL, PLATFORM)
    session.commit()
    delete(dataset_id)
    with pytest.raises(NotFound):
        delete(dataset_id)
    assert session.get(Job, job.id) is not None


def test_a_moment_that_has_passed_is_no_retention(version: DatasetVersion) -> None:
    with pytest.raises(InvalidRequest, match="in the future"):
        retention.keep_until(version.dataset, datetime.now(UTC) - timedelta(seconds=1))


def test_retention_sweep_deletes_expired_unused_datasets(
    session: Session, settings: Settings, version: DatasetVersion
) -> None:
    job = make_job(session)
    keeps = make_version(session, version.dataset.owner_id)
    retention.keep_until(session.get_one(Dataset, keeps.dataset_id), datetime.now(UTC) + timedelta(hours=1))
    past = text("UPDATE datasets SET expires_at = now() - interval '1 second' WHERE id = ANY(:ids)")
    session.execute(past, {"ids": [version.dataset_id, dataset_id_of(job)]})
    session.commit()
    sweep_data(settings)
    left = set(session.scalars(select(Dataset.id)))
    assert left == {dataset_id_of(job), keeps.dataset_id}
    request(session, job, Request.CANCEL, PLATFORM)
    session.commit()
    sweep_data(settings)
    assert set(session.scalars(select(Dataset.id))) == {keeps.dataset_id}
