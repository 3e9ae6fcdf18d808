"""Why jobs wait."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core import workers
from core.models import Job
from core.models.job import JobStatus


def queue_reasons(session: Session, jobs: Sequence[Job]) -> dict[str, str]:
    """In words, for each of `jobs` that is queued; however many they are, in two queries."""
    queued = [job.id for job in jobs if job.status == JobStatus.QUEUED]
    if not queued:
        return {}
    present = workers.online(session)
    if not present:
        return dict.fromkeys(queued, "No worker is online. Start one with `proximal up` or `python -m worker`.")
    if any(worker.job_id is None for worker in present):
        return dict.fromkeys(queued, "Waiting to be picked up.")
    busy = "The only worker is busy" if len(present) == 1 else f"All {len(present)} workers are busy"
    return {job_id: f"{busy}; {_position(ahead)}" for job_id, ahead in _ahead(session, queued).items()}


def _position(ahead: int) -> str:
    return {0: "this job is next.", 1: "1 job is ahead."}.get(ahead, f"{ahead} jobs are ahead.")


def _ahead(session: Session, job_ids: Sequence[str]) -> dict[str, int]:
    """How many jobs of higher priority or greater age wait; fair share between owners may still change the order."""
    place = func.row_number().over(order_by=(Job.priority.desc(), Job.created_at, Job.id)) - 1
    queue = select(Job.id, place.label("ahead")).where(Job.status == JobStatus.QUEUED).subquery()
    rows = session.execute(select(queue.c.id, queue.c.ahead).where(queue.c.id.in_(job_ids)))
    return dict.fromkeys(job_ids, 0) | {row.id: row.ahead for row in rows}
