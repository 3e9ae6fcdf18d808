"""Health checks of workers and the sweeper."""

import os
import signal
import time

import pytest

from core.settings import Settings
from tests.waiting import eventually
from worker.health import (
    WorkerHeartbeat,
    data_worker_is_alive,
    forget_data_worker,
    note_data_worker,
    note_sweep,
    sweeper_is_alive,
    worker_is_alive,
)
from worker.sweeper import sweeping


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_failed_sweep_in_a_thread_ends_the_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its supervisor starts it again. Otherwise the platform would go on without a sweeper."""
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr("worker.sweeper.os.kill", lambda *arguments: killed.append(arguments))
    monkeypatch.setattr("worker.sweeper.sweep_jobs", lambda _: 1 / 0)
    with sweeping(settings.model_copy(update={"sweep_seconds": 0.01})):
        eventually(lambda: killed == [(os.getpid(), signal.SIGTERM)])
