"""The workers that are online, and the reasons why jobs wait."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.models import Job, Worker
from core.models.jobs import JobStatus
from core.settings import get_settings


def report_worker(session: Session, worker_id: str, hostname: str, job_id: str | None) -> None:
    """Store a heartbeat of the worker. `job_id` None: the worker is idle."""
    now = func.clock_timestamp()
    values = {"hostname": hostname, "job_id": job_id, "last_seen_at": now}
    statement = insert(Worker).values(id=worker_id, **values)
    session.execute(statement.on_conflict_do_update(constraint="pk_workers", set_=values))


def sign_off(session: Session, worker_id: str) -> None:
    """Delete the row of a worker that stops."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def online_workers(session: Session) -> Sequence[Worker]:
    """The workers with a heartbeat within the time of a lease, oldest first."""
    return session.scalars(select(Worker).where(~_silent()).order_by(Worker.started_at, Worker.id)).all()


def remove_silent_workers(session: Session) -> list[str]:
    """Delete the rows of workers without a heartbeat for the time of a lease. Returns their ids."""
    return list(session.scalars(delete(Worker).where(_silent()).returning(Worker.id)))


def _silent() -> ColumnElement[bool]:
    patience = timedelta(seconds=get_settings().lease_seconds)
    return Worker.last_seen_at < func.clock_timestamp() - patience


def queue_reasons(session: Session, jobs: Sequence[Job]) -> dict[str, str]:
    """For each queued job, why it waits, as a sentence. Two queries for any number of jobs."""
    queued = [job.id for job in jobs if job.status == JobStatus.QUEUED]
    if not queued:
        return {}
    present = online_workers(session)
    if not present:
        return dict.fromkeys(queued, "No worker is online. Start one with `proximal up` or `python -m worker`.")
    if any(worker.job_id is None for worker in present):
        return dict.fromkeys(queued, "Waiting to be picked up.")
    busy = "The only worker is busy" if len(present) == 1 else f"All {len(present)} workers are busy"
    return {job_id: f"{busy}; {_position(ahead)}" for job_id, ahead in _ahead(session, queued).items()}


def _position(ahead: int) -> str:
    return {0: "this job is next.", 1: "1 job is ahead."}.get(ahead, f"{ahead} jobs are ahead.")


def _ahead(session: Session, job_ids: Sequence[str]) -> dict[str, int]:
    """For each job, the number of queued jobs before it by priority and age. Fair share may still change the order."""
    place = func.row_number().over(order_by=(Job.priority.desc(), Job.created_at, Job.id)) - 1
    queue = select(Job.id, place.label("ahead")).where(Job.status == JobStatus.QUEUED).subquery()
    rows = session.execute(select(queue.c.id, queue.c.ahead).where(queue.c.id.in_(job_ids)))
    return dict.fromkeys(job_ids, 0) | {row.id: row.ahead for row in rows}
