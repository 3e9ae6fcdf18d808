"""Whether the worker, the data worker or the sweeper of this machine is alive, asked from outside the process: for health checks."""

import socket
import time
from pathlib import Path

from core import workers
from core.db import session_scope
from core.settings import Settings

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
