"""The console output of attempts: stored while they run and after they end, once, in order, and without secrets."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy.orm import Session

from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.run.logs import LogQuery, read_log
from core.masking import MASK, Masker
from core.models.job_logs import LogSource
from core.settings import Settings
from tests.core.factories import make_job
from tests.waiting import eventually
from tests.worker.conftest import StartWorker, events, job, status
from worker.health import WorkerHeartbeat
from worker.jobs import workspace as workspaces
from worker.jobs.claim import run_queued_jobs
from worker.jobs.console_log import ConsoleLog
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher

Queue = Callable[[str], str]
HUB = "hf_" + "aB3" * 11 + "x"


def log_of(job_id: str, source: LogSource | None = LogSource.TRAINER, **wanted: int) -> list[str]:
    with session_scope() as session:
        return [line.text for line in read_log(session, job_id, LogQuery(source=source, **wanted)).lines]


def test_log_of_an_ended_job_has_trainer_and_worker_lines(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "worker")
    job_id = queue("begin chatter finish")
    run_queued_jobs(context, heartbeat)
    assert status(job_id) == "succeeded"
    assert log_of(job_id) == ["hello", "100%|####|", "red", "\ufffd", "unfinished"]
    ours = log_of(job_id, LogSource.WORKER)
    assert any("attempt 1: trainer is process" in line for line in ours)
    assert "attempt 1: the trainer ended with status 0" in ours[-1]


def test_log_is_readable_while_the_job_runs(queue: Queue, start_worker: StartWorker, settings: Settings) -> None:
    """It stays readable after the worker is killed."""
    job_id = queue("begin chatter wait")
    with start_worker() as worker:
        eventually(lambda: "hello" in log_of(job_id))
        worker.kill()
    assert "hello" in log_of(job_id) and status(job_id) == "running"


def test_log_and_error_of_a_crash_have_no_secrets(
    queue: Queue, context: WorkerContext, heartbeat: WorkerHeartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "0f1e2d3c4b5a6978")
    job_id = queue("begin leak_secrets crash")
    run_queued_jobs(context, heartbeat)
    error = (job(job_id).error or {})["message"]
    stored = "\n".join(log_of(job_id))
    told = events(job_id, "message")[0].data["text"]
    for text in (error, stored, job(job_id).status_reason, told):
        assert MASK in text
        assert not any(secret in text for secret in ("0f1e2d3c4b5a6978", HUB, "sekrit"))
    assert "an unforeseen bug" in error and f"key is {MASK}" in stored


@pytest.mark.slow
def test_log_of_the_real_trainer_has_no_secrets(
    context: WorkerContext, heartbeat: WorkerHeartbeat, session: Session
) -> None:
    """The trainer quotes the name of a model that it cannot load, which holds a token."""
    made = make_job(session, model=f"someone/{HUB}", stages=["reward_model"], runtime={"device": "cpu"})
    real = replace(
        context, launcher=LocalLauncher(), settings=context.settings.model_copy(update={"lease_seconds": 60})
    )
    run_queued_jobs(real, heartbeat)
    stored, error = "\n".join(log_of(made.id)), job(made.id).error or {}
    assert status(made.id) == "failed"
    for text in (stored, error["message"], events(made.id, "run_failed")[0].data["message"]):
        assert f"someone/{MASK}" in text and HUB not in text


def test_log_lines_of_an_unknown_commit_are_stored_once(
    queue: Queue, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = queue("")
    with session_scope() as session:
        claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    workspace = workspaces.workspace_of(claim, settings.data_dir)
    workspaces.create(workspace, settings.path_rules)
    console = ConsoleLog(claim, workspace, Masker({}), settings.log_bytes)
    workspace.log.write_text("one\ntwo\n")
    stored = ConsoleLog._stored
    monkeypatch.setattr(ConsoleLog, "_stored", lambda self: None)  # the response of the commit is lost
    console.store()
    monkeypatch.setattr(ConsoleLog, "_stored", stored)
    with workspace.log.open("a") as file:
        file.write("three\n")
    while console.store():
        pass
    assert log_of(job_id) == ["one", "two", "three"]


def test_log_collects_lines_of_other_machines(queue: Queue, settings: Settings) -> None:
    with session_scope() as session:
        job_id = make_job(session, resources={"processes": 2, "machines": 2}).id
        claim = attempts.claim(session, "wrk_1")
    assert claim is not None
    workspace = workspaces.workspace_of(claim, settings.data_dir)
    workspaces.create(workspace, settings.path_rules)
    for name in ("trainer", "trainer-1", "trainer-rank-0", "trainer-rank-3"):
        workspace.log.with_stem(name).write_text(f"{name}\n")
    ConsoleLog(claim, workspace, Masker({}), settings.log_bytes).store()
    with session_scope() as session:
        found = [
            (line.text, line.origin.machine, line.origin.rank) for line in read_log(session, job_id, LogQuery()).lines
        ]
    assert found == [
        ("trainer", 0, None),
        ("trainer-1", 1, None),
        ("trainer-rank-0", 0, 0),
        ("trainer-rank-3", 1, 3),
    ]
