"""Folders of jobs on a worker's disk that are removed."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from core.blobs import blob_store
from core.db import session_scope
from core.jobs.actions.retry import retry_job
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.removal import delete_job
from core.jobs.lifecycle.state import Request, request
from core.models import Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.core.factories import make_job
from worker.jobs.old_folders import remove_old_folders


def with_folders(session: Session, settings: Settings, status: JobStatus, days_ago: int = 0) -> Job:
    """A job that ended in this state, with a run folder and files of TensorBoard."""
    job = make_job(session)
    request(session, job, Request.CANCEL, PLATFORM)
    job.status, job.finished_at = status.value, datetime.now(UTC) - timedelta(days=days_ago)
    job.error = {"code": "diverged", "message": ""} if status is JobStatus.FAILED else None
    session.commit()
    for folder in (f"runs/{job.id}/attempt-1", f"tensorboard/{job.id}/ppo"):
        (settings.data_dir / folder).mkdir(parents=True)
    return job


def left(settings: Settings, place: str) -> set[str]:
    return {folder.name for folder in (settings.data_dir / place).iterdir()}


def test_folders_of_ended_and_deleted_jobs_are_removed(session: Session, settings: Settings) -> None:
    with session_scope() as other:
        remove_old_folders(other, settings)  # there are no folders yet
    failed = {days: with_folders(session, settings, JobStatus.FAILED, days) for days in (29, 31)}
    succeeded, deleted, retried = (
        with_folders(session, settings, status, 31)
        for status in (JobStatus.SUCCEEDED, JobStatus.CANCELLED, JobStatus.FAILED)
    )
    retry_job(session, retried, PLATFORM, settings)
    delete_job(session, blob_store(settings), deleted.id)
    session.commit()
    with session_scope() as other:
        remove_old_folders(other, settings)
    assert left(settings, "runs") == {failed[29].id, retried.id}
    assert left(settings, "tensorboard") == {failed[29].id, failed[31].id, succeeded.id, retried.id}
    with session_scope() as other:
        remove_old_folders(other, settings.model_copy(update={"run_folder_days": None}))
    assert left(settings, "runs") == {failed[29].id, retried.id}
