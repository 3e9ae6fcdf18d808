"""Health checks of workers and the sweeper."""

import os
import time

from core.settings import Settings
from worker.health import (
    WorkerHeartbeat,
    data_worker_is_alive,
    forget_data_worker,
    note_data_worker,
    note_sweep,
    sweeper_is_alive,
    worker_is_alive,
)


def test_a_worker_is_alive_while_it_is_present(settings: Settings) -> None:
    assert not worker_is_alive()
    with WorkerHeartbeat(settings):
        assert worker_is_alive()
    assert not worker_is_alive()


def test_a_sweeper_is_alive_while_it_sweeps(settings: Settings) -> None:
    assert not sweeper_is_alive(settings)
    note_sweep(settings)
    assert sweeper_is_alive(settings)
    long_ago = time.time() - 11 * settings.sweep_seconds
    os.utime(settings.data_dir / "swept", (long_ago, long_ago))
    assert not sweeper_is_alive(settings)


def test_data_worker_is_alive_while_it_reports(settings: Settings) -> None:
    assert not data_worker_is_alive(settings)
    note_data_worker(settings)
    assert data_worker_is_alive(settings)
    long_ago = time.time() - 11 * settings.heartbeat_seconds
    os.utime(settings.data_dir / "data-worker", (long_ago, long_ago))
    assert not data_worker_is_alive(settings)
    note_data_worker(settings)
    forget_data_worker(settings)
    assert not data_worker_is_alive(settings)
