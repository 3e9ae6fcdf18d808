"""Whether the worker or the sweeper of this machine is alive, asked from outside the process: for health checks."""

import socket
import time
from pathlib import Path

from core import workers
from core.db import session_scope
from core.settings import Settings

_SWEEPS_MISSED = 10


def worker_is_alive() -> bool:
    """A worker of this machine was seen by the database lately."""
    with session_scope() as session:
        return any(worker.hostname == socket.gethostname() for worker in workers.online(session))


def sweeper_is_alive(settings: Settings) -> bool:
    """It has swept lately. A file, since a sweeper with nothing to do leaves no trace in the database."""
    swept = _swept(settings)
    return swept.exists() and time.time() - swept.stat().st_mtime < _SWEEPS_MISSED * settings.sweep_seconds


def note_sweep(settings: Settings) -> None:
    """The sweeper's sign of life."""
    swept = _swept(settings)
    swept.parent.mkdir(parents=True, exist_ok=True)
    swept.touch()


def _swept(settings: Settings) -> Path:
    return settings.data_dir / "swept"
