"""Whether the worker, the data worker or the sweeper of this machine is alive, asked from outside the process: for health checks."""

import logging
import socket
import time
from pathlib import Path
from types import TracebackType

from core.db import session_scope
from core.jobs import workers
from core.models.base import new_id
from core.settings import Settings
from worker.process import AWAY, Beat

_SWEEPS_MISSED = 10
_BEATS_MISSED = 10


def worker_is_alive() -> bool:
    """A worker of this machine was seen by the database lately."""
    with session_scope() as session:
        return any(worker.hostname == socket.gethostname() for worker in workers.online(session))


def sweeper_is_alive(settings: Settings) -> bool:
    """It has swept lately. A file, since a sweeper with nothing to do leaves no trace in the database."""
    return _is_fresh(_swept(settings), _SWEEPS_MISSED * settings.sweep_seconds)


def note_sweep(settings: Settings) -> None:
    """The sweeper's sign of life."""
    _touch(_swept(settings))


def data_worker_is_alive(settings: Settings) -> bool:
    """It has given a sign of life lately, busy or idle."""
    return _is_fresh(_data_worker(settings), _BEATS_MISSED * settings.heartbeat_seconds)


def note_data_worker(settings: Settings) -> None:
    """The data worker's sign of life."""
    _touch(_data_worker(settings))


def forget_data_worker(settings: Settings) -> None:
    """It has ended. Another one of this machine shows itself again at its next sign of life."""
    _data_worker(settings).unlink(missing_ok=True)


def _is_fresh(sign: Path, seconds: float) -> bool:
    return sign.exists() and time.time() - sign.stat().st_mtime < seconds


def _touch(sign: Path) -> None:
    sign.parent.mkdir(parents=True, exist_ok=True)
    sign.touch()


def _data_worker(settings: Settings) -> Path:
    return settings.data_dir / "data-worker"


def _swept(settings: Settings) -> Path:
    return settings.data_dir / "swept"


# Signs of life of the worker itself, busy or idle.
log = logging.getLogger(__name__)


class Presence:
    """While entered, the platform knows that this worker is there and what it works on."""

    def __init__(self, settings: Settings) -> None:
        self.worker_id = new_id("wrk")
        self._job_id: str | None = None
        self._beat = Beat("presence", settings.heartbeat_seconds, self._show)

    def __enter__(self) -> "Presence":
        self._show()
        self._beat.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._beat.stop()
        try:
            with session_scope() as session:
                workers.leave(session, self.worker_id)
        except AWAY as error:
            log.warning("could not sign off: %s", error)

    def works_on(self, job_id: str | None) -> None:
        self._job_id = job_id
        self._show()

    def _show(self) -> bool:
        try:
            with session_scope() as session:
                workers.heartbeat(session, self.worker_id, socket.gethostname(), self._job_id)
        except AWAY as error:
            log.warning("could not give a sign of life: %s", error)
        return True
