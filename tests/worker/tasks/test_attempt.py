"""One attempt at a data task, with every kind of error of its handler."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from core import tasks
from core.blobs import blob_store
from core.db import session_scope
from core.errors import DiskFull, InvalidDataset
from core.models import DataTask
from core.settings import Settings
from core.tasks import requeue
from tests.core.factories import make_key
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.tasks.tools import drain_all, task
from worker.process import StopRequest
from worker.tasks import attempt
from worker.tasks.claim import run_queued_tasks
from worker.tasks.context import ReturnToQueue, TaskContext

Do = Callable[[Callable[[TaskContext], None]], DataTask]


@pytest.fixture
def do(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Do:
    """Queue a task and run it with this handler. Returns the task."""

    def do(handler: Callable[[TaskContext], None]) -> DataTask:
        monkeypatch.setitem(attempt.HANDLERS, "test", handler)
        drain_all(settings)
        return task(task_id)

    with session_scope() as session:
        task_id = tasks.enqueue(session, make_key(session).owner_id, "test", {"a": 1}).id
    return do


def test_handler_receives_its_arguments_and_reports_progress(do: Do) -> None:
    seen: list[Any] = []

    def handler(run: TaskContext) -> None:
        run.report(0.5, "half")
        run.report(0.7, "not stored: too soon")
        seen.append((run.args, run.task_id, task(run.task_id).progress, task(run.task_id).note))

    done = do(handler)
    assert seen == [({"a": 1}, done.id, 0.5, "half")]
    assert (done.status, done.progress) == ("succeeded", 1.0)


def test_handler_data_error_is_stored_with_its_message(do: Do) -> None:
    errors = [{"line": 3, "detail": "is empty"}]

    def handler(run: TaskContext) -> None:
        raise InvalidDataset("Line 3: is empty.", errors=errors, error_count=1, param="file")

    failed = do(handler)
    expected = {"code": "invalid_dataset", "message": "Line 3: is empty.", "errors": errors, "error_count": 1}
    assert (failed.status, failed.error) == ("failed", expected)


def test_handler_full_disk_fails_the_task(do: Do) -> None:
    def handler(run: TaskContext) -> None:
        raise DiskFull()

    assert (do(handler).error or {})["code"] == "disk_full"


def test_handler_unexpected_error_fails_the_task_not_the_worker(do: Do, caplog: pytest.LogCaptureFixture) -> None:
    failed = do(lambda run: 1 / 0)  # type: ignore[arg-type, return-value]
    assert failed.error == {"code": "internal_error", "message": f"Look for {failed.id} in the data worker's log."}
    assert "ZeroDivisionError" in caplog.text


def test_task_of_unknown_kind_fails(settings: Settings) -> None:
    with session_scope() as session:
        unknown = tasks.enqueue(session, make_key(session).owner_id, "paint", {}).id
    drain_all(settings)
    assert (task(unknown).error or {})["code"] == "unknown_task"


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), OperationalError("SELECT", {}, Exception("gone"))])
def test_task_machine_error_is_tried_three_times(do: Do, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.process.StopRequest.pause", lambda self, seconds: None)
    tries: list[int] = []

    def handler(run: TaskContext) -> None:
        tries.append(1)
        raise error

    failed = do(handler)
    assert (len(tries), failed.status, failed.attempt) == (3, "failed", 3)
    assert (failed.error or {})["code"] == "too_many_attempts"


def test_a_cancelled_task_stops_its_handler(do: Do, settings: Settings) -> None:
    def handler(run: TaskContext) -> None:
        with session_scope() as session:
            tasks.cancel(session, session.get_one(DataTask, run.task_id))
        eventually(lambda: run.report(0.5))
        raise AssertionError("nobody stopped it")

    assert do(handler).status == "cancelled"


def test_handler_that_lost_its_task_stops(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def handler(run: TaskContext) -> None:
        tries.append(1)
        if len(tries) == 1:
            with session_scope() as session:
                requeue(session, session.get_one(DataTask, run.task_id))
            eventually(lambda: run.report(0.5))

    done = do(handler)
    assert (done.status, done.attempt) == ("succeeded", 2)


def test_stopping_worker_requeues_the_task(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with session_scope() as session:
        queued = tasks.enqueue(session, make_key(session).owner_id, "test", {}).id
    stop = StopRequest()

    def handler(run: TaskContext) -> None:
        stop.ask()
        run.report(0.5)

    monkeypatch.setitem(attempt.HANDLERS, "test", handler)
    run_queued_tasks(settings, blob_store(settings), "dwk_1", stop)
    assert (task(queued).status, task(queued).attempt) == ("queued", 0)


@pytest.mark.parametrize("trouble", [ReturnToQueue(), OSError(5, "Input/output error")])
def test_task_cancelled_during_its_release_is_cancelled(
    do: Do, trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.process.StopRequest.pause", lambda self, seconds: None)

    def handler(run: TaskContext) -> None:
        with session_scope() as session:
            tasks.cancel(session, session.get_one(DataTask, run.task_id))
        raise trouble

    assert do(handler).status == "cancelled"


def script(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_command_output_is_lines_of_json(do: Do) -> None:
    code = "print('noise'); print('{\"progress\": 0.5, \"note\": \"half\"}'); print('[1]'); print('{\"found\": 7}', end='')"
    lines: list[Any] = []
    notes: list[str] = []

    def handler(run: TaskContext) -> None:
        run.run_command(script(code), lines.append, span=(0.2, 0.6))
        notes.append(f"{task(run.task_id).progress:.1f} {task(run.task_id).note}")

    assert do(handler).status == "succeeded"
    assert lines == [{"progress": 0.5, "note": "half"}, {"found": 7}]
    assert notes == ["0.4 half"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            'print(\'{"error": {"code": "no_model", "message": "There is none."}}\'); exit(1)',
            ("no_model", "There is none."),
        ),
        ("import sys; sys.exit('what went wrong')", ("command_failed", "status 1. Its last output: what went wrong")),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            ("command_failed", "status -9. Its last output: none"),
        ),
    ],
)
def test_command_failure_includes_its_message(do: Do, code: str, expected: tuple[str, str]) -> None:
    error = do(lambda run: run.run_command(script(code))).error or {}
    assert error["code"] == expected[0] and expected[1] in error["message"]


def test_command_and_its_children_end_with_the_task(do: Do) -> None:
    code = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print('{"pids": [%d, %d]}' % (os.getpid(), child.pid), flush=True)
time.sleep(600)
"""
    pids: list[int] = []

    def cancel(run: TaskContext, line: dict[str, Any]) -> None:
        pids.extend(line["pids"])
        with session_scope() as session:
            tasks.cancel(session, session.get_one(DataTask, run.task_id))

    assert do(lambda run: run.run_command(script(code), lambda line: cancel(run, line))).status == "cancelled"
    eventually(lambda: not any(map(alive, pids)))
    assert len(pids) == 2


def test_command_environment_has_no_database_url(do: Do) -> None:
    code = "import json, os; print(json.dumps({'found': sorted(n for n in os.environ if n in ('DATABASE_URL', 'REDIS_URL') or 'PROXIMAL' in n)}))"
    lines: list[Any] = []
    do(lambda run: run.run_command(script(code), lines.append))
    assert lines == [{"found": []}]
