"""The server that makes checks: with commands of the test's own, and once with the real trainer."""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.child import NO_MEMORY_RULES, MemoryRules
from tests.processes import alive
from tests.waiting import eventually
from worker.memory_limit import MemoryLimit
from worker.tasks.check_server import CheckServer
from worker.tasks.command import CommandFailed

_SERVER = """
import os, sys, time, types
sys.modules["trainer.preflight.check"] = types.ModuleType("check")  # without torch
from trainer.preflight.server import serve

def main(arguments):
    print("to standard output", os.getpid())
    if "fork" in arguments:
        begun, told = os.pipe()
        if os.fork() == 0:
            open("grandchild", "w").write(str(os.getpid()))
            os.close(told)
            time.sleep(600)
        os.close(told)
        os.read(begun, 1)
    if "wait" in arguments:
        open("waiting", "w").write(str(os.getpid()))
        time.sleep(600)
    if "crash" in arguments:
        raise RuntimeError("broken")
    return int(arguments[0])

sys.exit(serve(main))
"""
FREE = MemoryLimit(0, NO_MEMORY_RULES, [0])


class Cancelled(Exception):
    pass


@pytest.fixture
def quick() -> Iterator[CheckServer]:
    """A server whose checks are those of `_SERVER`."""
    made = CheckServer([sys.executable, "-c", _SERVER])
    yield made
    made.close()


def cancel_when(file: Path) -> Callable[[], None]:
    def check() -> None:
        if file.exists() and file.read_text():
            raise Cancelled

    return check


def test_check_ends_with_its_status_and_may_print(quick: CheckServer, tmp_path: Path) -> None:
    quick.run(["0"], tmp_path, lambda: None, FREE)
    with pytest.raises(CommandFailed, match="status 3"):
        quick.run(["3"], tmp_path, lambda: None, FREE)
    with pytest.raises(CommandFailed, match="RuntimeError: broken"):
        quick.run(["0", "crash"], tmp_path, lambda: None, FREE)


def test_processes_that_a_check_has_started_end_with_it(quick: CheckServer, tmp_path: Path) -> None:
    grandchild = tmp_path / "grandchild"
    quick.run(["0", "fork"], tmp_path, lambda: None, FREE)
    eventually(lambda: not alive(int(grandchild.read_text())))
    with pytest.raises(Cancelled):
        quick.run(["0", "fork", "wait"], tmp_path, cancel_when(tmp_path / "waiting"), FREE)
    eventually(lambda: not alive(int(grandchild.read_text())))


def test_check_ends_with_a_killed_server(quick: CheckServer, tmp_path: Path) -> None:
    """The kernel kills the server when the worker is killed. The check then ends too."""

    def kill_server() -> None:
        if (tmp_path / "waiting").exists():
            os.kill(pid(quick), signal.SIGKILL)

    with pytest.raises(CommandFailed, match="status -9"):
        quick.run(["0", "wait"], tmp_path, kill_server, FREE)
    eventually(lambda: not alive(int((tmp_path / "waiting").read_text())))
    quick.run(["0"], tmp_path, lambda: None, FREE)


def test_cancellation_is_reported_though_the_server_has_ended(quick: CheckServer, tmp_path: Path) -> None:
    def kill_server_and_cancel() -> None:
        if (tmp_path / "waiting").exists():
            os.kill(pid(quick), signal.SIGKILL)
            raise Cancelled

    with pytest.raises(Cancelled):
        quick.run(["0", "wait"], tmp_path, kill_server_and_cancel, FREE)
    quick.run(["0"], tmp_path, lambda: None, FREE)


def test_server_that_cannot_start_fails_the_check_in_words(tmp_path: Path) -> None:
    server = CheckServer([sys.executable, "-c", "raise SystemExit(5)"])
    with pytest.raises(CommandFailed, match="could not be started"):
        server.run(["0"], tmp_path, lambda: None, FREE)


def test_limit_of_memory_beyond_that_of_the_worker_is_no_error(quick: CheckServer, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MemoryLimit(2**50, MemoryRules(data_bytes=2**50), 0)
    quick.run(["0"], tmp_path, lambda: None, limit)
    resource.prlimit(pid(quick), resource.RLIMIT_DATA, (2**40, 2**40))
    quick.run(["0"], tmp_path, lambda: None, limit)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.fixture
def server() -> Iterator[CheckServer]:
    made = CheckServer()
    yield made
    made.close()


@pytest.mark.slow
def test_check_server_survives_a_cancelled_and_a_killed_check(server: CheckServer, tmp_path: Path) -> None:
    """A check of absent data ends with status 3. The cancelled one reads its spec from a pipe without a writer."""
    spec = {"model": "nobody/absent", "data": {"sft": "none.jsonl"}, "stages": ["sft"]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    os.mkfifo(tmp_path / "pipe.json")
    check, errors = ("check", "spec.json", "--json", "report.json"), tmp_path / "check-errors.log"
    for _ in range(2):
        with pytest.raises(CommandFailed, match="status 3"):
            server.run(check, tmp_path, lambda: None, FREE)
        assert json.loads((tmp_path / "report.json").read_text())["findings"]
        (tmp_path / "report.json").unlink()
    first = pid(server)
    errors.unlink()

    def cancel() -> None:
        if errors.exists():
            raise Cancelled

    with pytest.raises(Cancelled):
        server.run(("check", "pipe.json"), tmp_path, cancel, FREE)
    with pytest.raises(CommandFailed, match="status 3"):
        server.run(check, tmp_path, lambda: None, FREE)
    assert pid(server) == first
    os.kill(first, signal.SIGKILL)
    with pytest.raises(CommandFailed, match="status 3"):
        server.run(check, tmp_path, lambda: None, FREE)
    assert pid(server) != first


def pid(server: CheckServer) -> int:
    assert server._server is not None
    return server._server.pid
