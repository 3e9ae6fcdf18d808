"""Why a job waits."""

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from core import workers
from core.models import Job
from core.models.job import JobStatus


def queue_reason(session: Session, job: Job) -> str:
    """In words, for the page of a queued job."""
    present = workers.online(session)
    if not present:
        return "No worker is online. Start one with `proximal up` or `python -m worker`."
    if any(worker.job_id is None for worker in present):
        return "Waiting to be picked up."
    ahead = _ahead(session, job)
    busy = "The only worker is busy" if len(present) == 1 else f"All {len(present)} workers are busy"
    return f"{busy}; {ahead} {'job is' if ahead == 1 else 'jobs are'} ahead." if ahead else f"{busy}; this job is next."


def _ahead(session: Session, job: Job) -> int:
    """By priority and age; fair share between owners may still change the order."""
    earlier = tuple_(-Job.priority, Job.created_at, Job.id) < tuple_(-job.priority, job.created_at, job.id)
    query = select(func.count()).select_from(Job).where(Job.status == JobStatus.QUEUED, earlier)
    return session.scalars(query).one()
