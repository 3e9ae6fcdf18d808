"""The worker as a process: wake messages over a real Redis, signals, and lost workers."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core import child
from core.broker import wake_worker
from core.db import session_scope
from core.jobs.queue.workers import online_workers, set_worker_state
from core.models.workers import WorkerState
from core.settings import Settings, get_settings
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.conftest import StartWorker, events, job, status
from tests.worker.suspension import suspend_outside_of_transactions
from worker.sweeper import sweep_jobs

Queue = Callable[[str], str]


def running(job_id: str) -> Callable[[], bool]:
    return lambda: status(job_id) == "running"


def trainer_of(worker: child.Child) -> int:
    """The only child process of a worker."""
    return int(subprocess.check_output(["pgrep", "-P", str(worker.pid)], text=True))


def sweep_until(settings: Settings, job_id: str, wanted: str) -> None:
    """Sweep jobs once, in this process."""

    def swept() -> bool:
        # A worker may claim a requeued job before its status is read.
        result = sweep_jobs(settings)
        return status(job_id) == wanted or (wanted == "queued" and job_id in result.requeued)

    eventually(swept)


def test_wake_message_starts_an_idle_worker(queue: Queue, start_worker: StartWorker, settings: Settings) -> None:
    waiting = queue("begin finish")
    with start_worker():
        # No message was sent for the first job: a worker looks for jobs when it starts.
        eventually(lambda: status(waiting) == "succeeded")
        job_id = queue("begin finish")
        assert wake_worker(settings.redis_url)
        eventually(lambda: status(job_id) == "succeeded")


def test_a_lost_knock_is_repeated_by_the_sweeper(queue: Queue, start_worker: StartWorker, settings: Settings) -> None:
    first = queue("begin finish")
    with start_worker():
        eventually(lambda: status(first) == "succeeded")
        sweep_until(settings, queue("begin finish"), "succeeded")


def test_drained_worker_gives_its_job_back_and_takes_no_other(queue: Queue, start_worker: StartWorker) -> None:
    job_id = queue("begin wait_the_first_time steps finish")
    with start_worker():
        eventually(lambda: status(job_id) == "running")
        with session_scope() as session:
            (worker,) = online_workers(session)
            set_worker_state(session, worker.id, WorkerState.DRAINING)
        eventually(lambda: status(job_id) == "queued")
        with session_scope() as session:
            set_worker_state(session, worker.id, WorkerState.ONLINE)
        sweep_until(get_settings(), job_id, "succeeded")
    assert job(job_id).attempt == 2


def test_sigterm_saves_requeues_the_job_and_ends(queue: Queue, start_worker: StartWorker) -> None:
    job_id = queue("begin wait_the_first_time steps finish")
    with start_worker() as worker:
        eventually(running(job_id))
        assert worker.stop(grace=60) == 0
    assert status(job_id) == "queued"
    assert "saved" in job(job_id).status_reason
    with start_worker():
        eventually(lambda: status(job_id) == "succeeded")
    assert events(job_id, "run_started")[1].data["resumed_step"] == 2


@pytest.mark.slow
def test_sigterm_during_trainer_start_requeues_the_job(queue: Queue, start_worker: StartWorker) -> None:
    job_id = queue("not_yet_listening")
    with start_worker() as worker:
        eventually(lambda: events(job_id, "message"))
        assert worker.stop(grace=60) == 0
    assert status(job_id) == "queued"


def test_worker_start_deletes_folders_of_unknown_jobs(
    queue: Queue, start_worker: StartWorker, settings: Settings
) -> None:
    gone = settings.data_dir / "runs" / "job_gone" / "attempt-1"
    gone.mkdir(parents=True)
    job_id = queue("begin finish")
    with start_worker():
        eventually(lambda: status(job_id) == "succeeded")
    assert not gone.exists()


def test_idle_worker_ends_at_once_on_sigterm(queue: Queue, start_worker: StartWorker) -> None:
    job_id = queue("begin finish")
    with start_worker() as worker:
        eventually(lambda: status(job_id) == "succeeded")
        assert worker.stop(grace=60) == 0


@pytest.mark.slow
def test_a_second_sigterm_does_not_wait_for_the_trainer(
    queue: Queue, start_worker: StartWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_STOP_SECONDS", "3600")
    job_id = queue("begin deaf")
    with start_worker() as worker:
        eventually(lambda: events(job_id, "message"))
        worker.send(signal.SIGTERM)
        # Two pending signals of the same kind would count as one.
        eventually(lambda: "asking the trainer" in (tmp_path / "worker.log").read_text())
        worker.send(signal.SIGTERM)
        assert worker.wait(60) == 0
    assert status(job_id) == "queued"


def test_kill_9_ends_the_trainer_and_another_worker_resumes(
    queue: Queue, start_worker: StartWorker, settings: Settings
) -> None:
    job_id = queue("begin wait_the_first_time steps finish")
    with start_worker() as worker:
        eventually(running(job_id))
        trainer = trainer_of(worker)
        os.kill(worker.pid, signal.SIGKILL)
        eventually(lambda: not alive(trainer))
    with start_worker():
        sweep_until(settings, job_id, "queued")
        sweep_until(settings, job_id, "running")
        assert job(job_id).attempt == 2


@pytest.mark.slow
def test_worker_suspended_and_continued_writes_nothing(
    queue: Queue, start_worker: StartWorker, settings: Settings, tmp_path: Path
) -> None:
    job_id = queue("begin wait_the_first_time steps finish")
    with start_worker() as sleeper:
        eventually(running(job_id))
        trainer = trainer_of(sleeper)
        suspend_outside_of_transactions(sleeper.pid)
        # The trainer reads the lease file, since its stopped worker cannot signal it.
        eventually(lambda: not alive(trainer))
        sweep_until(settings, job_id, "queued")
        with start_worker() as second:
            eventually(running(job_id))
            before = len(events(job_id))
            os.kill(sleeper.pid, signal.SIGCONT)
            eventually(lambda: "The attempt ends here" in (tmp_path / "worker.log").read_text())
            assert len(events(job_id)) == before
            assert status(job_id) == "running"
            assert job(job_id).attempt == 2
            second.stop(grace=60)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_sweeper_ends_on_sigterm(settings: Settings, signal_: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "sweeper.log"
    with log.open("wb") as output:
        sweeper = child.start([sys.executable, "-m", "worker", "sweep"], stdout=output)
    eventually(lambda: "sweeping" in log.read_text())
    assert sweeper.stop(grace=60, number=signal_) == 0
