"""Heartbeats of the worker, the data worker and the sweeper, and the health checks that look at them."""

import logging
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from core.db import session_scope
from core.jobs.queue import workers
from core.jobs.queue.workers import EngineReport, MachineReport
from core.models.base import new_id
from core.settings import Settings
from worker.capacity import report_of
from worker.process import DATABASE_UNAVAILABLE, PeriodicThread

_MOST_MISSED = 10
"""How many sweeps or heartbeats may be missing before a process counts as dead."""
log = logging.getLogger(__name__)


class WorkerHeartbeat:
    """While entered, the table `workers` lists this worker and its job."""

    def __init__(
        self,
        settings: Settings,
        machine: MachineReport | None = None,
        worker_id: str | None = None,
        engine: Callable[[], EngineReport | None] | None = None,
    ) -> None:
        """`machine`: left out, this one. `worker_id`: left out, a new one. `engine` is called for each heartbeat."""
        self.worker_id = worker_id or new_id("wrk")
        self.machine = machine or report_of(settings)
        self._engine = engine
        self._job_id: str | None = None
        self._thread = PeriodicThread("heartbeat", settings.heartbeat_seconds, self._report)

    def __enter__(self) -> "WorkerHeartbeat":
        self._report()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._thread.stop()
        try:
            with session_scope() as session:
                workers.sign_off(session, self.worker_id)
        except DATABASE_UNAVAILABLE as error:
            log.warning("could not sign off: %s", error)

    def set_machine(self, machine: MachineReport) -> None:
        """Report other resources than before."""
        self.machine = machine
        self._report()

    def set_job(self, job_id: str | None) -> None:
        """Report the job that this worker runs; None: it is idle."""
        self._job_id = job_id
        self._report()

    def _report(self) -> bool:
        engine = None if self._engine is None else self._engine()
        try:
            with session_scope() as session:
                own = (self.worker_id, socket.gethostname(), self._job_id, self.machine, engine)
                workers.report_worker(session, *own)
        except DATABASE_UNAVAILABLE as error:
            log.warning("could not report a heartbeat: %s", error)
        return True


def worker_is_alive() -> bool:
    """Whether the database has a recent heartbeat of a worker on this machine."""
    with session_scope() as session:
        return any(worker.hostname == socket.gethostname() for worker in workers.online_workers(session))


def sweeper_is_alive(settings: Settings) -> bool:
    """Whether the sweeper has swept recently. It touches a file, since an idle sweep writes nothing to the database."""
    return _is_fresh(_sweeper_file(settings), _MOST_MISSED * settings.sweep_seconds)


def note_sweep(settings: Settings) -> None:
    """The sweeper's heartbeat."""
    _touch(_sweeper_file(settings))


def data_worker_is_alive(settings: Settings) -> bool:
    """Whether a data worker of this machine has a recent heartbeat."""
    return _is_fresh(_data_worker_file(settings), _MOST_MISSED * settings.heartbeat_seconds)


def note_data_worker(settings: Settings) -> None:
    """The data worker's heartbeat."""
    _touch(_data_worker_file(settings))


def forget_data_worker(settings: Settings) -> None:
    """Remove the heartbeat of a data worker that ends. Another one on this machine writes its own again."""
    _data_worker_file(settings).unlink(missing_ok=True)


def _is_fresh(file: Path, seconds: float) -> bool:
    return file.exists() and time.time() - file.stat().st_mtime < seconds


def _touch(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


def _data_worker_file(settings: Settings) -> Path:
    return settings.data_dir / "data-worker"


def _sweeper_file(settings: Settings) -> Path:
    return settings.data_dir / "swept"
