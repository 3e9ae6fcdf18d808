"""Uploads that expire."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore, blob_store
from core.db import session_scope
from core.models import ApiKey, DataTask, Upload
from core.settings import Settings, get_settings
from core.uploads import receiving, store
from core.uploads.fetching import create_fetched
from core.uploads.parts import part_key
from core.uploads.receiving import keep_part
from core.uploads.store import sweep_uploads
from tests.core.factories import make_key


@pytest.fixture
def blobs(settings: Settings) -> BlobStore:
    return blob_store(settings)


@pytest.fixture
def owner(session: Session) -> ApiKey:
    made = make_key(session)
    session.commit()
    return made


def begun(session: Session, blobs: BlobStore, owner: ApiKey, *, age: timedelta = timedelta()) -> Upload:
    """An upload with one part that expires after this time."""
    upload = store.create(session, blobs, get_settings(), owner.owner_id, "x", 4, None)
    with blobs.draft(part_key(upload.id, 1)) as draft:
        draft.write(b"four")
        keep_part(session, blobs, upload, 1, draft)
    upload.expires_at = datetime.now(UTC) - age
    session.commit()
    return upload


def left(session: Session) -> list[str]:
    session.expire_all()
    return [upload.id for upload in session.query(Upload)]


def test_sweep_deletes_abandoned_uploads_with_parts(session: Session, blobs: BlobStore, owner: ApiKey) -> None:
    old = begun(session, blobs, owner, age=timedelta(seconds=1))
    new = begun(session, blobs, owner, age=timedelta(hours=-1))
    with session_scope() as sweeper:
        assert sweep_uploads(sweeper, blobs) == [old.id]
    assert left(session) == [new.id]
    assert list(blobs.list("uploads")) == [part_key(new.id, 1)]


def test_one_that_is_read_stays_until_that_is_over(session: Session, blobs: BlobStore, owner: ApiKey) -> None:
    upload = begun(session, blobs, owner, age=timedelta(hours=1))
    task = tasks.enqueue(session, owner.owner_id, "import", {"upload": upload.id})
    session.commit()
    with session_scope() as sweeper:
        assert sweep_uploads(sweeper, blobs) == []
    tasks.cancel(session, task)
    session.commit()
    with session_scope() as sweeper:
        assert sweep_uploads(sweeper, blobs) == [upload.id]


def test_upload_expiry_moves_with_every_part_and_use(session: Session, blobs: BlobStore, owner: ApiKey) -> None:
    upload = begun(session, blobs, owner, age=timedelta(hours=1))
    receiving.complete(session, upload, "0" * 64, None)
    session.refresh(upload)
    first = upload.expires_at
    assert first - datetime.now(UTC) > timedelta(hours=get_settings().upload_hours - 1)
    session.commit()
    store.take(session, owner.owner_id, upload.id)
    session.commit()
    session.refresh(upload)
    assert upload.expires_at > first


def test_sweep_fails_a_fetch_without_a_task(session: Session, blobs: BlobStore, owner: ApiKey) -> None:
    allowed = get_settings().model_copy(update={"import_urls": "any"})
    upload = create_fetched(session, allowed, owner.owner_id, "https://data.example/x", None)
    session.commit()
    with session_scope() as sweeper:
        sweep_uploads(sweeper, blobs)
    session.refresh(upload)
    assert upload.status == "fetching"
    tasks.cancel(session, session.query(DataTask).one())
    session.commit()
    with session_scope() as sweeper:
        sweep_uploads(sweeper, blobs)
    session.refresh(upload)
    assert upload.status == "failed" and upload.error is not None and upload.error["code"] == "fetch_failed"


def test_sweep_continues_if_parts_cannot_be_deleted(
    session: Session, blobs: BlobStore, owner: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(prefix: str) -> None:
        raise OSError(5, "Input/output error")

    upload_id = begun(session, blobs, owner).id
    monkeypatch.setattr(blobs, "delete_prefix", broken)
    with session_scope() as other:
        store.delete(other, blobs, owner.owner_id, upload_id)
    assert left(session) == [] and list(blobs.list("uploads")) == [part_key(upload_id, 1)]
