import io
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy.orm import Session

from core import quotas
from core.blobs import blob_store
from core.datasets.importing import BadRows, Import, ReadingOptions, Source, import_later, limits_of
from core.db import session_scope
from core.errors import QuotaExceeded
from core.models import Checkpoint
from core.settings import Settings, get_settings
from core.uploads import fetching, store
from data.schema import DatasetKind
from tests.core.factories import ROWS, jsonl, make_job, make_key, make_version


def test_stored_bytes_count_uploads_rows_and_checkpoints(session: Session, settings: Settings) -> None:
    owner = make_key(session).owner_id
    store.create(session, blob_store(settings), settings, owner, "a.jsonl", 1000, None)
    job = make_job(session, owner)
    again = make_version(session, owner)  # the same rows, stored once
    assert again.content is not None
    size = again.content.bytes
    session.add(
        Checkpoint(
            id="ckpt_1", job_id=job.id, attempt=1, stage="sft", step=1, final=True, path="x", metrics={}, files=[],
            bytes=5000, blob_prefix="p",
        )
    )  # fmt: skip
    session.flush()
    assert quotas.stored_bytes(session, owner) == 1000 + size + 5000
    assert quotas.stored_bytes(session, make_key(session).owner_id) == 0


def test_create_upload_beyond_the_owners_bytes_is_refused(session: Session, settings: Settings) -> None:
    owner, blobs = make_key(session).owner_id, blob_store(settings)
    small = settings.model_copy(update={"max_owner_bytes": 1000})
    store.create(session, blobs, small, owner, "a.jsonl", 600, None)
    with pytest.raises(QuotaExceeded, match=r"1001 bytes.*allows 1000.*PROXIMAL_MAX_OWNER_BYTES"):
        store.create(session, blobs, small, owner, "b.jsonl", 401, None)
    store.create(session, blobs, small, owner, "b.jsonl", 400, None)
    with pytest.raises(QuotaExceeded):
        fetching.create_fetched(
            session, small.model_copy(update={"import_urls": "any"}), owner, "https://a.example/x", None
        )


def test_import_beyond_the_owners_bytes_is_refused(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = make_key(session).owner_id
    monkeypatch.setenv("PROXIMAL_MAX_OWNER_BYTES", "10")
    get_settings.cache_clear()
    with pytest.raises(QuotaExceeded):
        make_version(session, owner)


def test_download_beyond_the_open_imports_is_refused(session: Session, settings: Settings) -> None:
    owner = make_key(session).owner_id
    few = settings.model_copy(update={"import_urls": "any", "max_open_imports": 1})
    fetching.create_fetched(session, few, owner, "https://a.example/x", None)
    with pytest.raises(QuotaExceeded, match=r"1 unfinished imports.*allows 1 .PROXIMAL_MAX_OPEN_IMPORTS"):
        fetching.create_fetched(session, few, owner, "https://a.example/y", None)
    fetching.create_fetched(session, few, make_key(session).owner_id, "https://a.example/x", None)


def test_import_beyond_the_open_imports_is_refused(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    owner = make_key(session).owner_id
    monkeypatch.setenv("PROXIMAL_MAX_OPEN_IMPORTS", "1")
    get_settings.cache_clear()
    source = Source(lambda: io.BytesIO(jsonl(ROWS[DatasetKind.PREFERENCES])), "a.jsonl")
    wanted = Import(source, "a", ReadingOptions("preferences"), BadRows.REFUSE)
    import_later(session, owner, wanted, limits_of(get_settings()), tmp_path)
    with pytest.raises(QuotaExceeded, match="1 unfinished imports") as refused:
        import_later(session, owner, wanted, limits_of(get_settings()), tmp_path)
    assert (refused.value.extras["limit"], refused.value.extras["value"]) == (1, 1)


def test_two_uploads_at_once_cannot_pass_the_limit(session: Session, settings: Settings) -> None:
    owner, blobs = make_key(session).owner_id, blob_store(settings)
    session.commit()
    small = settings.model_copy(update={"max_owner_bytes": 1000})
    refused: list[Exception] = []

    def create() -> None:
        try:
            with session_scope() as own:
                store.create(own, blobs, small, owner, "a.jsonl", 600, None)
        except QuotaExceeded as error:
            refused.append(error)

    threads = [Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3 and quotas.stored_bytes(session, owner) == 600
