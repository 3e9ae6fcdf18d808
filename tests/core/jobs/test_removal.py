"""Jobs that are archived and deleted."""

from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.errors import JobInUse, JobNotEnded, NotFound
from core.jobs.checkpoints.checkpoints import record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.removal import archive_job, delete_job
from core.jobs.lifecycle.state import Request, request
from core.models import Checkpoint, Job, JobEvent
from core.settings import Settings
from tests.core.factories import make_job, running
from trainer.events import CheckpointSaved


def put_blob(settings: Settings, job: Job, folder: Path) -> str:
    """Store a file below the job's prefix. Returns its key."""
    file = folder / "weights"
    file.write_text("weights")
    key = f"jobs/{job.id}/checkpoints/1-1/checkpoints/sft/weights"
    blob_store(settings).put_file(key, file)
    return key


def test_delete_removes_rows_and_blobs(session: Session, settings: Settings, tmp_path: Path) -> None:
    job = make_job(session)
    key = put_blob(settings, job, tmp_path)
    request(session, job, Request.CANCEL, PLATFORM)
    session.commit()
    with session_scope() as other:
        delete_job(other, blob_store(settings), job.id)
        assert blob_store(settings).exists(key)  # rows first
    assert not blob_store(settings).exists(key)
    with session_scope() as other:
        assert other.get(Job, job.id) is None and other.scalars(select(JobEvent)).all() == []
        with pytest.raises(NotFound):
            delete_job(other, blob_store(settings), job.id)


def test_blobs_of_a_deleted_job_are_orphans(session: Session, settings: Settings, tmp_path: Path) -> None:
    """The process may die between the commit and the deletion of the blobs."""
    kept, gone = make_job(session), make_job(session)
    keys = [put_blob(settings, job, tmp_path) for job in (kept, gone)]
    session.delete(gone)
    session.commit()
    blobs = blob_store(settings)
    assert remove_orphans(blobs, remove_orphans(blobs, set())) == set()
    assert [blobs.exists(key) for key in keys] == [True, False]


@pytest.mark.parametrize("change", [archive_job, lambda session, job: delete_job(session, None, job.id)])
def test_removal_of_an_unfinished_job_is_refused(session: Session, change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(JobNotEnded, match="is queued"):
        change(session, make_job(session))


def test_delete_of_a_job_that_another_needs_is_refused(session: Session, settings: Settings) -> None:
    source = make_job(session)
    running(session, source)
    event = CheckpointSaved(stage="sft", step=1, path="checkpoints/sft", final=True)
    model: Checkpoint = record_checkpoint(session, source.id, 1, event, [], "at/sft")
    attempts.release(session, source.id, 1, "")
    request(session, source, Request.CANCEL, PLATFORM)
    needing = make_job(session, source.owner_id, model=model.id)
    with pytest.raises(JobInUse) as refusal:
        delete_job(session, blob_store(settings), source.id)
    assert refusal.value.extras["jobs"] == [needing.id]
    request(session, needing, Request.CANCEL, PLATFORM)
    delete_job(session, blob_store(settings), source.id)
    assert session.scalars(select(Job.id)).all() == [needing.id]
