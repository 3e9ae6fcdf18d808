"""Jobs in several processes and on several machines: their ends, and no process that outlives its worker."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.db import session_scope
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.run.logs import LogQuery, read_log
from core.models import Job
from core.settings import MachineSettings, Settings, get_settings
from tests.core.factories import make_job
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.conftest import StartWorker, events, job, meanwhile, status
from worker.health import WorkerHeartbeat
from worker.jobs.claim import run_queued_jobs
from worker.jobs.context import WorkerContext
from worker.jobs.launch.fit import capacity_refusal
from worker.jobs.launch.local import LocalLauncher

RANKS = "-m tests.worker.fake_rank"
Queue = Callable[..., str]


@pytest.fixture
def queue(settings: Settings) -> Queue:
    """Queue a job with the actions of its first process and of the others. Returns its id."""

    def queue(first: str, others: str, **resources: int) -> str:
        with session_scope() as session:
            return make_job(session, name=f"{first} | {others}", resources={"processes": 2} | resources).id

    return queue


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_PROCESSES", "2")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def context(context: WorkerContext) -> WorkerContext:
    return replace(context, launcher=LocalLauncher([sys.executable, *RANKS.split()]))


def ranks_of(settings: Settings, job_id: str, count: int = 2) -> list[int]:
    """The process ids of a started run."""
    folder = settings.data_dir / "runs" / job_id / "attempt-1"
    eventually(lambda: status(job_id) == "running")
    pids = [int(file.read_text()) for file in sorted(folder.glob("rank-*"))]
    assert len(pids) == count and all(alive(pid) for pid in pids)
    return pids


def gone(pids: list[int]) -> Callable[[], bool]:
    return lambda: not any(alive(pid) for pid in pids)


def test_killed_process_ends_the_others_as_a_killed_trainer(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_MAX_ATTEMPTS", "1")
    get_settings.cache_clear()
    job_id = queue("begin lose_the_others", "die")
    run_queued_jobs(context, heartbeat)
    error = job(job_id).error or {}
    assert error["code"] == "too_many_attempts"
    assert "killed by SIGKILL" in error["message"]


@pytest.mark.slow
def test_error_of_any_process_is_the_error_of_the_run(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin lose_the_others", "run_out_of_memory")
    run_queued_jobs(context, heartbeat)
    error = job(job_id).error or {}
    assert (status(job_id), error["code"]) == ("failed", "out_of_memory")
    assert "The device ran out of memory." in error["message"]
    with session_scope() as session:
        of_rank_1 = read_log(session, job_id, LogQuery(rank=1)).lines
    assert [line.text for line in of_rank_1] == ["error: The device ran out of memory."]


def test_cancelled_run_saves_and_deaf_processes_are_killed(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, settings: Settings
) -> None:
    job_id = queue("begin wait", "deaf")
    pids: list[int] = []

    def ask() -> None:
        pids.extend(ranks_of(settings, job_id))
        with session_scope() as session:
            request(session, session.get_one(Job, job_id), Request.CANCEL, PLATFORM)

    with meanwhile(ask):
        run_queued_jobs(context, heartbeat)
    assert status(job_id) == "cancelled"
    assert [event.data["reason"] for event in events(job_id, "run_stopped")] == ["signal"]
    eventually(gone(pids))


def test_killed_worker_ends_every_trainer_process(queue: Queue, start_worker: StartWorker, settings: Settings) -> None:
    job_id = queue("begin wait", "deaf")
    with start_worker(RANKS) as worker:
        pids = ranks_of(settings, job_id)
        os.kill(worker.pid, signal.SIGKILL)
        eventually(gone(pids))


@pytest.mark.slow
def test_two_machines_work_on_one_job_and_stop_together(
    queue: Queue, start_worker: StartWorker, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("PROXIMAL_MACHINES", "2")
    monkeypatch.setenv("PROXIMAL_RENDEZVOUS", f"127.0.0.1:{port}")
    monkeypatch.setenv("PROXIMAL_MACHINE_RANK", "1")
    job_id = queue("begin wait", "wait", processes=1, machines=2)
    with start_worker(RANKS, "join") as joined, start_worker(RANKS) as worker:
        pids = ranks_of(settings, job_id)
        assert worker.stop(grace=60) == 0
        assert (status(job_id), "saved" in job(job_id).status_reason) == ("queued", True)
        # The process on the other machine ended because the lease of the run had expired.
        eventually(gone(pids))
        assert joined.stop(grace=60) == 0


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"processes": 3}, "asks for 3 processes on a machine (`resources.processes`); this one gives 2"),
        ({"machines": 2}, "asks for 2 machines (`resources.machines`); this worker is the first of a group of 1"),
    ],
)
def test_job_larger_than_the_worker_stays_queued(
    resources: dict[str, int], message: str, queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat
) -> None:
    job_id = queue("begin finish", "", **resources)
    assert run_queued_jobs(context, heartbeat) == 0
    assert (status(job_id), events(job_id, "run_started")) == ("queued", [])
    # The worker checks again before it starts a trainer, because its settings may have changed.
    refused = capacity_refusal(job(job_id).spec, context.settings)
    assert refused is not None and message in refused.message


def test_a_machine_that_joins_needs_no_database() -> None:
    environment = {"PROXIMAL_DATA_DIR": "/shared", "PROXIMAL_MACHINE_RANK": "0", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "worker", "join"]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert refused.returncode == 2
    assert "greater than or equal to 1" in refused.stderr and "database" not in refused.stderr
    assert set(MachineSettings.model_fields) == {"data_dir", "machine_rank", "stop_seconds", "trainer_memory_gib"}
