"""Files that the data worker downloads into uploads."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore, blob_store
from core.db import session_scope
from core.models import ApiKey, DataTask, Upload
from core.settings import Settings, get_settings
from core.tasks import requeue
from core.uploads import fetching, store
from core.uploads.fetching import create_fetched
from core.uploads.reading import opener
from core.uploads.receiving import received_parts
from tests.api.test_uploads import room_for
from tests.core.factories import make_key
from tests.worker.tasks.file_server import File, Files, serving_files
from worker.process import StopRequest
from worker.tasks import fetch
from worker.tasks.claim import run_queued_tasks

CONTENT = bytes(range(256)) * 400
PART = 40_000


@pytest.fixture
def web() -> Iterator[Files]:
    with serving_files() as served:
        yield served


@pytest.fixture
def settings(settings: Settings, web: Files, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_IMPORT_URLS", f"{web.url}/ s3:// hf://")
    monkeypatch.setenv("PROXIMAL_HUB_URL", f"{web.url}/hub")
    monkeypatch.setenv("PROXIMAL_S3_ENDPOINT", web.url)
    monkeypatch.setenv("PROXIMAL_UPLOAD_PART_BYTES", str(PART))
    monkeypatch.setenv("PROXIMAL_MAX_UPLOAD_BYTES", "200000")
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def blobs(settings: Settings) -> BlobStore:
    return blob_store(settings)


@pytest.fixture
def owner(session: Session) -> ApiKey:
    made = make_key(session)
    session.commit()
    return made


def begun(session: Session, owner: ApiKey, url: str) -> Upload:
    upload = create_fetched(session, get_settings(), owner.owner_id, url, None)
    session.commit()
    return upload


def after(session: Session, upload: Upload, blobs: BlobStore) -> Upload:
    """The upload after all queued tasks were run."""
    run_queued_tasks(get_settings(), blobs, "dwk_1", StopRequest())
    session.refresh(upload)
    return upload


def task(session: Session) -> DataTask:
    return session.query(DataTask).populate_existing().one()


def files(settings: Settings) -> list[Path]:
    return [path for path in settings.blob_dir.rglob("*") if path.is_file()]


@pytest.mark.parametrize("says_length", [True, False])
def test_a_file_becomes_an_upload(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, says_length: bool
) -> None:
    web.files["/pairs.jsonl"] = File(CONTENT, says_length=says_length)
    upload = after(session, begun(session, owner, f"{web.url}/pairs.jsonl"), blobs)
    assert (upload.status, upload.bytes, upload.error) == ("complete", len(CONTENT), None)
    assert upload.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert received_parts(session, [upload.id])[upload.id] == [1, 2, 3]
    with opener(blobs, upload)() as file:
        assert file.read() == CONTENT
    assert task(session).status == "succeeded"


@pytest.mark.parametrize("size", [1, PART - 1, PART, PART + 1, 2 * PART])
def test_parts_end_where_they_should(session: Session, owner: ApiKey, web: Files, blobs: BlobStore, size: int) -> None:
    web.files["/x"] = File(CONTENT[:size], says_length=False)
    upload = after(session, begun(session, owner, f"{web.url}/x"), blobs)
    with opener(blobs, upload)() as file:
        assert file.read() == CONTENT[:size]


@pytest.mark.parametrize(
    ("file", "code", "message"),
    [
        (File(statuses=[404]), "fetch_failed", "returned 404"),
        (File(b""), "fetch_failed", "empty"),
        (File(b"", says_length=False), "fetch_failed", "empty"),
        (File(b"x" * 200_001), "too_large", "200000 bytes"),
        (File(b"x" * 200_001, says_length=False), "too_large", "200000 bytes"),
        (File(CONTENT, cuts=[50_000]), "fetch_failed", "connection ended after 50000 bytes"),
        (File(redirect="https://127.0.0.1/"), "import_refused", "private network"),
    ],
)
def test_fetch_error_is_reported_and_leaves_no_file(
    session: Session,
    owner: ApiKey,
    web: Files,
    blobs: BlobStore,
    settings: Settings,
    file: File,
    code: str,
    message: str,
) -> None:
    web.files["/x"] = file
    upload = after(session, begun(session, owner, f"{web.url}/x"), blobs)
    assert upload.status == "failed" and upload.error is not None
    assert upload.error["code"] == code and message in upload.error["message"]
    assert task(session).status == "failed" and (task(session).error or {})["code"] == code
    assert files(settings) == [] and received_parts(session, [upload.id]) == {}


def test_fetch_full_disk_is_reported(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, settings: Settings
) -> None:
    web.files["/x"] = File(CONTENT)
    upload = begun(session, owner, f"{web.url}/x")
    with room_for(PART // 2):
        after(session, upload, blobs)
    assert upload.error is not None and upload.error["code"] == "disk_full"
    assert files(settings) == []


def test_an_upload_that_is_deleted_is_not_fetched_on(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, settings: Settings
) -> None:
    upload = begun(session, owner, f"{web.url}/x")

    def delete() -> None:
        with session_scope() as other:
            store.delete(other, blobs, owner.owner_id, upload.id)

    web.files["/x"] = File(CONTENT, meanwhile=delete)
    run_queued_tasks(get_settings(), blobs, "dwk_1", StopRequest())
    assert task(session).status == "cancelled"
    assert session.query(Upload).count() == 0 and files(settings) == []


def test_fetch_left_by_a_lost_worker_starts_again(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, settings: Settings
) -> None:
    web.files["/x"] = File(CONTENT)
    upload = begun(session, owner, f"{web.url}/x")
    with blobs.draft(f"uploads/{upload.id}/000001") as draft:
        draft.write(b"half of another")
        draft.keep()
    fetching.add_part(session, upload, 1, 15)
    session.commit()
    after(session, upload, blobs)
    with opener(blobs, upload)() as file:
        assert file.read() == CONTENT


def test_a_dataset_of_the_hub_is_called_as_its_file(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore
) -> None:
    web.files["/hub/api/datasets/o/n/tree/main"] = File(b'[{"type": "file", "path": "d/train.jsonl", "size": 1}]')
    web.files["/hub/datasets/o/n/resolve/main/d/train.jsonl"] = File(CONTENT)
    upload = after(session, begun(session, owner, "o/n"), blobs)
    assert (upload.filename, upload.status) == ("train.jsonl", "complete")


def test_an_object_of_a_public_bucket(session: Session, owner: ApiKey, web: Files, blobs: BlobStore) -> None:
    about = {"Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT"}
    web.files["/my-bucket/a/pairs.jsonl"] = File(CONTENT, etag='"v1"', headers=about)
    upload = after(session, begun(session, owner, "s3://my-bucket/a/pairs.jsonl"), blobs)
    assert (upload.filename, upload.status, upload.error) == ("pairs.jsonl", "complete", None)
    assert upload.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert "authorization" not in web.asked[0][1]


def test_fetch_from_bucket_uses_the_operator_key(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_S3_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("PROXIMAL_S3_SECRET_ACCESS_KEY", "secret")
    get_settings.cache_clear()
    upload = after(session, begun(session, owner, "s3://my-bucket/gone"), blobs)
    assert upload.error is not None and "The object s3://my-bucket/gone does not exist" in upload.error["message"]
    assert "Credential=AKIAEXAMPLE/" in web.asked[0][1]["authorization"]
    assert "secret" not in str(upload.error)


def test_a_worker_that_lost_the_task_writes_nothing_more(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore
) -> None:
    def goes_on_elsewhere() -> None:
        with session_scope() as other:
            requeue(other, other.query(DataTask).one())
            assert tasks.claim(other, "dwk_2") is not None

    web.files["/x"] = File(CONTENT[:PART], meanwhile=goes_on_elsewhere)
    upload = after(session, begun(session, owner, f"{web.url}/x"), blobs)
    assert upload.status == "fetching" and received_parts(session, [upload.id]) == {}
    assert (task(session).status, task(session).worker_id) == ("running", "dwk_2")


def test_fetch_unexpected_error_fails_the_upload(
    session: Session, owner: ApiKey, web: Files, blobs: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(fetch, "open_remote_file", broken)
    upload = after(session, begun(session, owner, f"{web.url}/x"), blobs)
    assert upload.status == "failed" and upload.error is not None
    assert f"look for {task(session).id}" in upload.error["message"]
    assert (task(session).error or {})["code"] == "internal_error"
