"""Which workers are there. A worker's row lives as long as its signs of life keep coming."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.models import Worker
from core.settings import get_settings


def heartbeat(session: Session, worker_id: str, hostname: str, job_id: str | None) -> None:
    """I am here, and work on this (or on nothing)."""
    now = func.clock_timestamp()
    news = {"hostname": hostname, "job_id": job_id, "last_seen_at": now}
    statement = insert(Worker).values(id=worker_id, **news)
    session.execute(statement.on_conflict_do_update(constraint="pk_workers", set_=news))


def leave(session: Session, worker_id: str) -> None:
    """I am going."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def online(session: Session) -> Sequence[Worker]:
    """The workers that were seen lately, oldest first."""
    return session.scalars(select(Worker).where(~_silent()).order_by(Worker.started_at, Worker.id)).all()


def forget_silent(session: Session) -> list[str]:
    """Remove those that have not been seen for a lease's time; answer their ids."""
    return list(session.scalars(delete(Worker).where(_silent()).returning(Worker.id)))


def _silent() -> ColumnElement[bool]:
    patience = timedelta(seconds=get_settings().lease_seconds)
    return Worker.last_seen_at < func.clock_timestamp() - patience
