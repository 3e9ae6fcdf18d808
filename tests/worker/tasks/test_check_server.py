"""The server that makes checks, with the real trainer."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.child import NO_MEMORY_RULES
from worker.memory_limit import MemoryLimit
from worker.tasks.check_server import CheckServer
from worker.tasks.command import CommandFailed

FREE = MemoryLimit(0, NO_MEMORY_RULES, [0])


class Cancelled(Exception):
    pass


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
