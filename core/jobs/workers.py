"""Which workers are there. A worker's row lives as long as its signs of life keep coming."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.models import Job, Worker
from core.models.jobs import JobStatus
from core.settings import get_settings


def report_worker(session: Session, worker_id: str, hostname: str, job_id: str | None) -> None:
    """I am here, and work on this (or on nothing)."""
    now = func.clock_timestamp()
    news = {"hostname": hostname, "job_id": job_id, "last_seen_at": now}
    statement = insert(Worker).values(id=worker_id, **news)
    session.execute(statement.on_conflict_do_update(constraint="pk_workers", set_=news))


def sign_off(session: Session, worker_id: str) -> None:
    """I am going."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def online_workers(session: Session) -> Sequence[Worker]:
    """The workers that were seen lately, oldest first."""
    return session.scalars(select(Worker).where(~_silent()).order_by(Worker.started_at, Worker.id)).all()


def remove_silent_workers(session: Session) -> list[str]:
    """Remove those that have not been seen for a lease's time; answer their ids."""
    return list(session.scalars(delete(Worker).where(_silent()).returning(Worker.id)))


def _silent() -> ColumnElement[bool]:
    patience = timedelta(seconds=get_settings().lease_seconds)
    return Worker.last_seen_at < func.clock_timestamp() - patience


# Why jobs wait.
def queue_reasons(session: Session, jobs: Sequence[Job]) -> dict[str, str]:
    """In words, for each of `jobs` that is queued; however many they are, in two queries."""
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
    """How many jobs of higher priority or greater age wait; fair share between owners may still change the order."""
    place = func.row_number().over(order_by=(Job.priority.desc(), Job.created_at, Job.id)) - 1
    queue = select(Job.id, place.label("ahead")).where(Job.status == JobStatus.QUEUED).subquery()
    rows = session.execute(select(queue.c.id, queue.c.ahead).where(queue.c.id.in_(job_ids)))
    return dict.fromkeys(job_ids, 0) | {row.id: row.ahead for row in rows}
