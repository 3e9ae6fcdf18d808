"""The database stops in the middle of a run and starts again. The test has a server of its own."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import child
from core.db import engine_for, migrate
from core.embedded.postgres import Postgres
from core.settings import Settings, get_settings
from tests.processes import alive, children
from tests.waiting import eventually
from tests.worker.conftest import StartWorker, events, status
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.follow import Follower

Queue = Callable[[str], str]


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[tuple[Postgres, child.Child]]:
    """A durable server: without `synchronous_commit`, a killed one loses the commits of the last half second."""
    server = Postgres(tmp_path / "pg", tmp_path / "pg" / "log", database="proximal_test_away")
    running = server.start()
    migrate(server.url)
    yield server, running
    engine_for(server.url).dispose()
    running.kill()


@pytest.fixture
def settings(
    postgres: tuple[Postgres, child.Child], redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    monkeypatch.setenv("DATABASE_URL", postgres[0].url)
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("PROXIMAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PROXIMAL_HEARTBEAT_SECONDS", "0.2")
    get_settings.cache_clear()
    yield get_settings()
    get_settings.cache_clear()


def test_database_away_run_continues_and_keeps_every_event_once(
    postgres: tuple[Postgres, child.Child], queue: Queue, start_worker: StartWorker, tmp_path: Path
) -> None:
    server, running = postgres
    job_id = queue("begin slow_steps finish")
    with start_worker():
        eventually(lambda: events(job_id, "metrics"))
        os.kill(running.pid, signal.SIGKILL)
        eventually(lambda: "the trainer goes on" in (tmp_path / "worker.log").read_text())
        running.kill()
        again = server.start()
        try:
            eventually(lambda: status(job_id) == "succeeded")
            assert [event.step for event in events(job_id, "metrics")] == [1, 2, 3, 4, 5]
            assert len(events(job_id, "run_started")) == 1
        finally:
            engine_for(server.url).dispose()
            again.kill()


def test_database_away_beyond_the_lease_ends_and_retries_the_run(
    postgres: tuple[Postgres, child.Child],
    queue: Queue,
    start_worker: StartWorker,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The trainer ends with the lease, and a later attempt finishes the run."""
    monkeypatch.setenv("PROXIMAL_LEASE_SECONDS", "2")
    server, running = postgres
    job_id = queue("begin wait_in_attempt_1 steps finish")
    with start_worker() as worker:
        eventually(lambda: status(job_id) == "running")
        (trainer,) = children(worker.pid)
        running.kill()
        eventually(lambda: not alive(trainer))
        again = server.start()
        try:
            eventually(lambda: status(job_id) == "succeeded")
            assert len(events(job_id, "run_stopped")) == 1
        finally:
            engine_for(server.url).dispose()
            again.kill()


def test_database_commit_with_lost_response_is_not_repeated(
    queue: Queue, context: WorkerContext, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    lost = 0
    store = Follower._store

    def lose_the_first_answer(self: Follower, pending: list[object], end: int) -> None:
        nonlocal lost
        before = self._offset
        store(self, pending, end)  # type: ignore[arg-type]
        if pending and not lost:
            # The commit succeeds, then the connection breaks: the worker cannot know the outcome.
            lost, self._offset, self._commit_unknown = 1, before, True

    monkeypatch.setattr(Follower, "_store", lose_the_first_answer)
    job_id = queue("begin steps finish")
    with WorkerHeartbeat(settings) as heartbeat:
        run_queued_jobs(context, heartbeat)
    assert (status(job_id), lost) == ("succeeded", 1)
    assert len(events(job_id, "run_started")) == 1
