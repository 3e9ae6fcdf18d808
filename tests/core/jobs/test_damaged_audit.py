"""The check of all blobs finds damaged ones, names what refers to them, and clears the marks of restored ones."""

import hashlib
from types import SimpleNamespace

import pytest
from sqlalchemy.orm import Session

from core.blobs import LocalBlobs, blob_store
from core.datasets import row_store, rows
from core.jobs.checkpoints.blob_audit import audit
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.models import Checkpoint, DatasetContent
from core.settings import Settings, get_settings
from proximal.local import blob_check
from proximal.local.options import Options
from tests.core.factories import make_job, make_key, make_version, running
from trainer.events import CheckpointSaved


def stored_checkpoint(session: Session, settings: Settings) -> Checkpoint:
    """A checkpoint with the file `at/weights`."""
    job = make_job(session)
    running(session, job)
    with blob_store(settings).draft("at/weights") as draft:
        draft.write(b"weights")
        draft.keep()
    event = CheckpointSaved(stage="sft", step=3, path="checkpoints/sft", final=True)
    sha256 = hashlib.sha256(b"weights").hexdigest()
    return record_checkpoint(session, job.id, 1, event, [{"path": "weights", "bytes": 7, "sha256": sha256}], "at")


def test_doctor_marks_damaged_blobs_without_any_address(
    session: Session, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local platform has no addresses in the environment. The mark is announced all the same."""
    made = stored_checkpoint(session, settings)
    session.commit()
    (settings.blob_dir / "at/weights").write_bytes(b"weightz")
    monkeypatch.setattr(blob_check, "postgres", lambda _: SimpleNamespace(url=settings.database_url))
    for name in ("DATABASE_URL", "REDIS_URL", "PROXIMAL_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    get_settings.cache_clear()
    found = list(blob_check.check_blobs(Options(settings.data_dir), lambda _: None))
    get_settings.cache_clear()
    assert [(name, ok) for name, ok, _ in found] == [("damaged", False), ("blobs", False)]
    assert found[0][2].startswith(f"{made.id}: weights has the SHA-256 ")


def test_audit_marks_damaged_blobs_and_clears_restored_ones(session: Session, settings: Settings) -> None:
    made, blobs = stored_checkpoint(session, settings), blob_store(settings)
    content = session.query(DatasetContent).one()
    session.commit()
    url = settings.database_url
    assert audit(blobs, url).faults == []

    weights, rows = settings.blob_dir / "at/weights", settings.blob_dir / content.blob_key
    good = rows.read_bytes()
    weights.write_bytes(b"weightz")
    rows.write_bytes(good[:-1])
    seen: list[tuple[int, int]] = []
    found = audit(blobs, url, lambda done, total: seen.append((done, total)))
    assert [(one.of, one.damaged) for one in found.faults] == [(made.id, True), (content.sha256, True)]
    assert found.faults[0].used_by == [made.job_id] and made.job_id in found.faults[1].used_by
    assert found.checked == 2 and seen[-1] == (7 + len(good), 7 + len(good))
    session.expire_all()
    assert session.get_one(Checkpoint, made.id).damage is not None

    weights.write_bytes(b"weights")
    rows.write_bytes(good)
    session.commit()
    assert sorted(audit(blobs, url).restored) == sorted([made.id, content.sha256])
    session.expire_all()
    assert session.get_one(Checkpoint, made.id).damage is None


def test_audit_of_unreadable_blob_marks_nothing_as_damaged(
    session: Session, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_job(session)
    session.commit()

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(LocalBlobs, "stamp", fail)
    (fault,) = audit(blob_store(settings), settings.database_url).faults
    assert not fault.damaged and "Input/output error" in fault.fault
    assert session.query(DatasetContent).one().damage is None


def test_audit_finds_damaged_numbers_and_makes_offsets_anew(session: Session, settings: Settings) -> None:
    spaced = b"\n\n".join(b'{"prompt": "p%d", "chosen": "a", "rejected": "b"}' % number for number in range(3))
    version = make_version(session, make_key(session).owner_id, content=spaced)
    session.commit()
    blobs, url = blob_store(settings), settings.database_url
    assert audit(blobs, url).faults == [] and version.sha256 is not None
    offsets, lines = row_store.index_key(version.sha256), rows.lines_key(version.id)
    good = (settings.blob_dir / offsets).read_bytes()
    for key in (offsets, lines):
        (settings.blob_dir / key).write_bytes(bytes(24))
    found = audit(blobs, url).faults
    assert [(one.of, one.damaged) for one in found] == [
        (version.sha256, True),
        (f"{version.dataset_id}@{version.number}", True),
    ]
    assert found[0].fault.endswith(". It was made anew") and found[1].fault.startswith(f"{lines} has the SHA-256 ")
    assert (settings.blob_dir / offsets).read_bytes() == good


def test_audit_stores_the_hash_of_old_offsets(session: Session, settings: Settings) -> None:
    content = make_version(session, make_key(session).owner_id).content
    assert content is not None
    before, content.number_files = content.number_files, None
    session.commit()
    (settings.blob_dir / row_store.index_key(content.sha256)).write_bytes(b"damaged")
    assert audit(blob_store(settings), settings.database_url).faults == []
    session.refresh(content)
    assert content.number_files == before
