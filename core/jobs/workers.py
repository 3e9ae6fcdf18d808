"""The registry of workers: heartbeats, machines, and the states that an operator sets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.errors import NotFound
from core.models import Worker, WorkerCordon
from core.models.jobs import WorkerState
from core.scheduling.matching import Capacity
from core.settings import get_settings


@dataclass(frozen=True)
class Gpu:
    """One GPU of a worker."""

    model: str
    memory_gib: int


@dataclass(frozen=True)
class MachineReport:
    """The machine of a worker, as its first heartbeat reports it."""

    capacity: Capacity
    gpus: tuple[Gpu, ...] = ()
    cores: int = 1
    memory_bytes: int = 0
    version: str = ""
    name: str = ""
    """Name of the worker, which stays when its process restarts. Empty: it has none."""

    def columns(self) -> dict[str, Any]:
        """The values of the columns of `workers`."""
        return {
            "capacity": self.capacity.stored(),
            "worker_class": self.capacity.class_name,
            "gpus": [asdict(gpu) for gpu in self.gpus],
            "cores": self.cores,
            "memory_bytes": self.memory_bytes,
            "version": self.version,
            "name": self.name,
        }


def report_worker(
    session: Session, worker_id: str, hostname: str, job_id: str | None, machine: MachineReport | None = None
) -> None:
    """Store a heartbeat of the worker. `job_id` None: the worker is idle.

    The state that an operator set stays. A new process has the state that was stored for its name.
    """
    values: dict[str, Any] = {"hostname": hostname, "job_id": job_id, "last_seen_at": func.clock_timestamp()}
    if machine is not None:
        values |= machine.columns()
    stored = select(WorkerCordon.state).where(WorkerCordon.name == (machine.name if machine else ""))
    state = func.coalesce(stored.scalar_subquery(), WorkerState.ONLINE.value)
    statement = insert(Worker).values(id=worker_id, state=state, **values)
    session.execute(statement.on_conflict_do_update(constraint="pk_workers", set_=values))


def sign_off(session: Session, worker_id: str) -> None:
    """Delete the row of a worker that stops."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def set_worker_state(session: Session, worker_id: str, state: WorkerState) -> Worker:
    """Let a worker take jobs, or keep it from them, also after a restart. Returns its row.

    Raises NotFound for a worker that is not online.
    """
    changed = update(Worker).where(Worker.id == worker_id, ~_silent()).values(state=state.value).returning(Worker)
    worker = session.scalars(changed, execution_options={"populate_existing": True}).one_or_none()
    if worker is None:
        raise NotFound(f"There is no worker {worker_id!r} online. `GET /v1/workers` lists them.")
    session.execute(delete(WorkerCordon).where(WorkerCordon.name == worker.name))
    if state is not WorkerState.ONLINE and worker.name:
        session.execute(insert(WorkerCordon).values(name=worker.name, state=state.value))
    return worker


def is_draining(session: Session, worker_id: str | None) -> bool:
    """Whether an operator has asked the worker to give up its job."""
    state = session.scalars(select(Worker.state).where(Worker.id == worker_id)).one_or_none()
    return state == WorkerState.DRAINING


def online_workers(session: Session) -> Sequence[Worker]:
    """The workers with a heartbeat within the time of a lease, oldest first."""
    return session.scalars(select(Worker).where(~_silent()).order_by(Worker.started_at, Worker.id)).all()


def remove_silent_workers(session: Session) -> list[str]:
    """Delete the rows of workers without a heartbeat for the time of a lease. Returns their ids."""
    return list(session.scalars(delete(Worker).where(_silent()).returning(Worker.id)))


def _silent() -> ColumnElement[bool]:
    patience = timedelta(seconds=get_settings().lease_seconds)
    return Worker.last_seen_at < func.clock_timestamp() - patience
