"""The sweeper removes what has no row from a bucket, and retention what is old."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.blobs.s3 import Bucket, S3Blobs
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.jobs.lifecycle.removal import delete_job
from core.models import Checkpoint
from core.settings import Settings
from tests.core.factories import make_dataset, make_job, make_key

Use = Callable[[Bucket], Settings]
SUM = "0" * 64


def test_objects_without_a_row_are_removed_at_the_second_time(
    settings: Settings, session: Session, bucket: Bucket, use_bucket: Use, tmp_path: Path
) -> None:
    blobs = blob_store(use_bucket(bucket))
    dataset = make_dataset(session, make_key(session).owner_id)
    session.commit()
    kept = list(blobs.list("contents"))
    assert len(kept) == 2 and dataset.id
    (tmp_path / "file").write_bytes(b"x")
    orphans = [f"contents/{SUM}/rows.jsonl", "uploads/up_gone/000001", "jobs/job_gone/checkpoints/1-1/ppo/model"]
    for key in orphans:
        blobs.put_file(key, tmp_path / "file")
    suspects = remove_orphans(blobs, set())
    assert all(map(blobs.exists, orphans))
    assert remove_orphans(blobs, suspects) == set()
    assert not any(map(blobs.exists, orphans)) and list(blobs.list("contents")) == kept


def test_files_of_a_deleted_job_leave_the_bucket(
    settings: Settings, session: Session, bucket: Bucket, use_bucket: Use, tmp_path: Path
) -> None:
    blobs = blob_store(use_bucket(bucket))
    assert isinstance(blobs, S3Blobs)
    job = make_job(session)
    job.status, job.finished_at = "cancelled", job.created_at
    prefix = f"jobs/{job.id}/checkpoints/1-1/ppo"
    (tmp_path / "file").write_bytes(b"x")
    stored = blobs.put_file(f"{prefix}/model", tmp_path / "file")
    made = {"job_id": job.id, "attempt": 1, "stage": "ppo", "step": 1, "final": True, "best": False, "metrics": {}}
    file = {"path": "model", "bytes": stored.bytes, "sha256": stored.sha256}
    session.add(Checkpoint(id="ckpt_1", path="checkpoints/ppo", files=[file], bytes=1, blob_prefix=prefix, **made))
    session.commit()
    with session_scope() as deleting:
        delete_job(deleting, blobs, job.id)
    assert list(blobs.list("jobs")) == []
