"""Archives and deletes jobs that have ended."""

import logging
from datetime import UTC, datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from core.blobs import BlobStore, discard
from core.db import after_commit
from core.errors import JobInUse, JobNotEnded, NotFound
from core.jobs.lifecycle.state import allowed_requests
from core.models import AnnotationPin, Checkpoint, CheckpointPin, Job
from core.models.jobs import TERMINAL, JobStatus

log = logging.getLogger(__name__)


def archive_job(session: Session, job: Job) -> None:
    """Hide the job in lists. Raises JobNotEnded."""
    lock_ended(session, job.id)
    job.archived_at = job.archived_at or datetime.now(UTC)


def unarchive_job(job: Job) -> None:
    job.archived_at = None


def delete_job(session: Session, blobs: BlobStore, job_id: str) -> None:
    """Delete the job with its events, metrics, logs and checkpoints. Raises NotFound, JobNotEnded and JobInUse.

    The rows of the checkpoints are locked first, so that a job that is being created with one is either seen here, or does not
    find it. The blobs are deleted after the commit. If the process dies in between, the sweeper finds them.
    """
    lock_ended(session, job_id)
    ids = list(session.scalars(select(Checkpoint.id).filter_by(job_id=job_id).with_for_update()))
    _refuse_needed(session, ids)
    freed = session.scalars(select(func.sum(Checkpoint.bytes)).filter_by(job_id=job_id)).one() or 0
    session.execute(delete(Job).where(Job.id == job_id))
    after_commit(session, lambda: _remove_blobs(blobs, job_id, int(freed)))


def lock_ended(session: Session, job_id: str) -> Job:
    """The job, locked so that it is not retried meanwhile. Raises NotFound and JobNotEnded."""
    query = select(Job).filter_by(id=job_id).with_for_update().execution_options(populate_existing=True)
    job = session.scalars(query).one_or_none()
    if job is None:
        raise NotFound(f"There is no job {job_id!r}.")
    if job.status not in TERMINAL:
        possible = allowed_requests(JobStatus(job.status))
        raise JobNotEnded(f"{job_id} is {job.status}. Cancel it or wait for its end.", requests=possible)
    return job


def _refuse_needed(session: Session, ids: list[str]) -> None:
    """Raise JobInUse if an unfinished job or a round needs one of the checkpoints."""
    jobs = sorted(set(session.scalars(select(CheckpointPin.job_id).where(CheckpointPin.checkpoint_id.in_(ids)))))
    rounds = sorted(set(session.scalars(select(AnnotationPin.round_id).where(AnnotationPin.checkpoint_id.in_(ids)))))
    if jobs or rounds:
        needed = ", ".join([*jobs, *rounds])
        raise JobInUse(f"A checkpoint of this job is needed by {needed}. Wait for their end.", jobs=jobs, rounds=rounds)


def _remove_blobs(blobs: BlobStore, job_id: str, freed: int) -> None:
    discard(blobs, [f"jobs/{job_id}"])
    log.info("%s was deleted, with %d bytes of checkpoints", job_id, freed)
