"""The registry of workers: heartbeats, machines, and the states that an operator sets."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.errors import NotFound
from core.models import Worker, WorkerCordon
from core.models.workers import WorkerState
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
    launcher: str = "local"
    """Where it runs its trainers."""

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
            "launcher": self.launcher,
        }


@dataclass(frozen=True)
class EngineReport:
    """The state of the place where a worker runs its trainers."""

    problem: str | None = None
    """Why the worker takes no jobs at present, as a sentence."""
    cluster: dict[str, Any] | None = None
    """The cluster that it submits to, as JSON."""


def report_worker(
    session: Session,
    worker_id: str,
    hostname: str,
    job_id: str | None,
    machine: MachineReport | None = None,
    engine: EngineReport | None = None,
) -> None:
    """Store a heartbeat of the worker. `job_id` None: the worker is idle.

    The state that an operator set stays. A new process has the state that was stored for its name.
    """
    values: dict[str, Any] = {"hostname": hostname, "job_id": job_id, "last_seen_at": func.clock_timestamp()}
    values["stopped_at"] = None
    if engine is not None:
        values |= {"problem": engine.problem, "cluster": engine.cluster}
    if machine is not None:
        values |= machine.columns()
        earlier = (Worker.name == machine.name, Worker.id != worker_id, Worker.stopped_at.is_not(None))
        session.execute(delete(Worker).where(*earlier))
    stored = select(WorkerCordon.state).where(WorkerCordon.name == (machine.name if machine else ""))
    state = func.coalesce(stored.scalar_subquery(), WorkerState.ONLINE.value)
    statement = insert(Worker).values(id=worker_id, state=state, **values)
    session.execute(statement.on_conflict_do_update(constraint="pk_workers", set_=values))


def sign_off(session: Session, worker_id: str) -> None:
    """Delete the row of a worker that stops. A cordoned one keeps its row, so that the list shows it."""
    _remove(session, Worker.id == worker_id)


def set_worker_state(session: Session, worker_id: str, state: WorkerState) -> Worker:
    """Let a worker take jobs, or keep it from them, also after a restart. Returns its row.

    A worker that is offline loses its row when it may take jobs again. Raises NotFound for a worker that `listed_workers`
    does not return.
    """
    changed = update(Worker).where(Worker.id == worker_id, _is_listed()).values(state=state.value).returning(Worker)
    worker = session.scalars(changed, execution_options={"populate_existing": True}).one_or_none()
    if worker is None:
        raise NotFound(f"There is no worker {worker_id!r}. `GET /v1/workers` lists them.")
    session.execute(delete(WorkerCordon).where(WorkerCordon.name == worker.name))
    if state is not WorkerState.ONLINE and worker.name:
        session.execute(insert(WorkerCordon).values(name=worker.name, state=state.value))
    if state is WorkerState.ONLINE and worker.stopped_at is not None:
        session.expunge(worker)
        session.execute(delete(Worker).where(Worker.id == worker_id))
    return worker


def is_draining(session: Session, worker_id: str | None) -> bool:
    """Whether an operator has asked the worker to give up its job."""
    state = session.scalars(select(Worker.state).where(Worker.id == worker_id)).one_or_none()
    return state == WorkerState.DRAINING


def online_workers(session: Session) -> Sequence[Worker]:
    """The workers with a heartbeat within the time of a lease, oldest first."""
    return session.scalars(select(Worker).where(_is_online()).order_by(Worker.started_at, Worker.id)).all()


def listed_workers(session: Session) -> Sequence[Worker]:
    """The workers that are online, then the stopped ones whose cordon stays; oldest first."""
    order = (Worker.stopped_at.is_not(None), Worker.started_at, Worker.id)
    return session.scalars(select(Worker).where(_is_listed()).order_by(*order)).all()


def remove_silent_workers(session: Session) -> list[str]:
    """Delete the rows of workers without a heartbeat for the time of a lease. Returns their ids.

    Those of cordoned workers stay, as after `sign_off`. A row that is locked is left to the next sweep: a worker that was
    suspended during its heartbeat keeps the lock, and must not stop the sweeper.
    """
    silent = select(Worker.id).where(~_is_online(), Worker.stopped_at.is_(None)).with_for_update(skip_locked=True)
    return _remove(session, Worker.id.in_(session.scalars(silent).all()))


def _remove(session: Session, *which: ColumnElement[bool]) -> list[str]:
    stopped = {"stopped_at": func.clock_timestamp(), "job_id": None}
    kept = session.scalars(update(Worker).where(*which, _stays_cordoned()).values(stopped).returning(Worker.id)).all()
    deleted = session.scalars(delete(Worker).where(*which, ~_stays_cordoned()).returning(Worker.id)).all()
    return [*kept, *deleted]


def _is_online() -> ColumnElement[bool]:
    patience = timedelta(seconds=get_settings().lease_seconds)
    return and_(Worker.stopped_at.is_(None), Worker.last_seen_at >= func.clock_timestamp() - patience)


def _is_listed() -> ColumnElement[bool]:
    return or_(_is_online(), _stays_cordoned())


def _stays_cordoned() -> ColumnElement[bool]:
    """Whether a restarted worker of the same name would have the state that the operator set."""
    return and_(Worker.state != WorkerState.ONLINE.value, Worker.name != "")
