"""The data worker as a process: wake messages over a real Redis, signals, and lost workers."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from core import child, tasks
from core.db import session_scope
from core.settings import Settings
from tests.core.factories import make_key
from tests.processes import alive
from tests.waiting import eventually
from tests.worker.suspension import suspend_outside_of_transactions
from tests.worker.tasks.tools import task
from worker.__main__ import main
from worker.process import StopRequest
from worker.sweeper import sweep_data
from worker.tasks.slots import _ended

Start = Callable[[], AbstractContextManager[child.Child]]


@pytest.fixture
def start(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts a data worker with one slot, unless a test sets another number."""
    monkeypatch.setenv("PROXIMAL_DATA_SLOTS", "1")

    @contextmanager
    def start() -> Iterator[child.Child]:
        with (tmp_path / "log").open("ab") as log:
            script = Path(__file__).with_name("data_worker_process.py")
            worker = child.start([sys.executable, str(script)], stdout=log)
        try:
            yield worker
        finally:
            worker.kill()

    return start


def queue(kind: str) -> str:
    with session_scope() as session:
        return tasks.enqueue(session, make_key(session).owner_id, kind, {}).id


def status(task_id: str) -> str:
    return task(task_id).status


def waiting(task_id: str) -> int:
    """The id of the process that the task has started."""
    eventually(lambda: task(task_id).note.startswith("process"))
    return int(task(task_id).note.split()[1])


def sweep_until(settings: Settings, task_id: str, wanted: str) -> None:
    def swept() -> bool:
        sweep_data(settings)
        return status(task_id) == wanted

    eventually(swept)


def test_data_worker_runs_queued_tasks_is_healthy_and_ends(start: Start, settings: Settings) -> None:
    """It runs earlier tasks at its start and later ones on a wake message."""
    before = queue("quick")
    assert main(["check-data"]) == 1
    with start() as worker:
        eventually(lambda: status(before) == "succeeded")
        assert main(["check-data"]) == 0
        later = queue("quick")
        eventually(lambda: status(later) == "succeeded")
        assert worker.stop(grace=60) == 0
    assert main(["check-data"]) == 1


def test_sigterm_requeues_the_task_and_ends_its_command(start: Start) -> None:
    task_id = queue("wait")
    with start() as worker:
        command = waiting(task_id)
        assert worker.stop(grace=60) == 0
    assert (status(task_id), task(task_id).attempt) == ("queued", 0)
    assert not alive(command)


def test_kill_9_ends_the_command_and_another_worker_resumes(start: Start, settings: Settings) -> None:
    task_id = queue("wait")
    with start() as worker:
        command = waiting(task_id)
        os.kill(worker.pid, signal.SIGKILL)
        eventually(lambda: not alive(command))
    with start():
        sweep_until(settings, task_id, "succeeded")
    assert task(task_id).attempt == 2


def test_data_worker_suspended_and_continued_writes_nothing(start: Start, settings: Settings, tmp_path: Path) -> None:
    task_id = queue("wait")
    with start() as sleeper:
        waiting(task_id)
        suspend_outside_of_transactions(sleeper.pid)
        with start():
            sweep_until(settings, task_id, "succeeded")
            os.kill(sleeper.pid, signal.SIGCONT)
            eventually(lambda: "The attempt ends here" in (tmp_path / "log").read_text())
    assert (status(task_id), task(task_id).attempt) == ("succeeded", 2)


def test_stop_of_a_slot_that_is_being_started_is_no_failure(tmp_path: Path) -> None:
    """Python has no handler yet. A slot that fails while it stops is one."""
    ready = tmp_path / "ready"
    starting = child.start(["sleep", "60"])
    assert _ended([starting], StopRequest()) == 0
    failing = child.start(["sh", "-c", f"trap 'exit 3' TERM; touch {ready}; sleep 60 & wait"])
    eventually(ready.exists)
    assert _ended([child.start(["sleep", "60"]), failing], StopRequest()) == 3


def test_slots_work_side_by_side_and_end_with_their_supervisor(
    start: Start, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tasks run at once. After kill -9 of the supervisor their commands are gone, and another worker runs both again."""
    tasks_ = [queue("wait"), queue("wait")]
    monkeypatch.setenv("PROXIMAL_DATA_SLOTS", "3")
    with start() as worker:
        commands = [waiting(task_id) for task_id in tasks_]
        os.kill(worker.pid, signal.SIGKILL)
        eventually(lambda: not any(map(alive, commands)))
    with start() as worker:
        for task_id in tasks_:
            sweep_until(settings, task_id, "succeeded")
        assert worker.stop(grace=60) == 0
    assert [task(task_id).attempt for task_id in tasks_] == [2, 2]
