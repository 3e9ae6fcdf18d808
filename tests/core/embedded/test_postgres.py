import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from core.embedded.postgres import Postgres
from core.embedded.server import FolderInUse, StartFailed
from tests.waiting import eventually

PARENT = """
import sys, time
from pathlib import Path
from core.embedded.postgres import Postgres
server = Postgres(Path(sys.argv[1]), Path(sys.argv[1]) / "log").start()
print(server.pid, flush=True)
time.sleep(60)
"""


def connect(server: Postgres) -> psycopg.Connection:
    return psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True)


def test_data_stays_between_starts(tmp_path: Path) -> None:
    server = Postgres(tmp_path, tmp_path / "log")
    running = server.start()
    with connect(server) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert server.stop(running) == 0
    running = server.start()
    try:
        with connect(server) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    finally:
        server.stop(running)


def test_postgres_starts_again_after_its_parent_was_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0
        parent.kill()
    server = Postgres(tmp_path, tmp_path / "log")
    running = server.start()
    assert server.stop(running) == 0


def test_after_kill_9_of_the_server_itself_the_next_start_works(tmp_path: Path) -> None:
    server = Postgres(tmp_path, tmp_path / "log")
    server.start().kill()
    assert (tmp_path / "data" / "postmaster.pid").exists()
    running = server.start()
    assert server.stop(running) == 0


def test_postgres_start_ignores_pid_file_of_another_process(tmp_path: Path) -> None:
    server = Postgres(tmp_path, tmp_path / "log")
    server.stop(server.start())
    (tmp_path / "data" / "postmaster.pid").write_text(f"{os.getppid()}\n{tmp_path / 'data'}\n")
    running = server.start()
    assert server.stop(running) == 0


def test_a_second_server_on_the_same_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.embedded.postgres._PREDECESSOR_SECONDS", 0.2)
    first = Postgres(tmp_path, tmp_path / "log")
    running = first.start()
    try:
        with pytest.raises(FolderInUse, match=f"process {running.pid}"):
            Postgres(tmp_path, tmp_path / "log").start()
    finally:
        first.stop(running)


def test_an_interrupted_initdb_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "data.new").mkdir()
    (tmp_path / "data.new" / "PG_VERSION").write_text("18")
    server = Postgres(tmp_path, tmp_path / "log")
    running = server.start()
    assert server.stop(running) == 0


def test_postgres_start_error_includes_the_server_message(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    with pytest.raises(StartFailed, match="No such file or directory"):
        Postgres(tmp_path, tmp_path / "log").start()


def test_a_deep_data_folder_still_gets_a_short_socket(tmp_path: Path) -> None:
    server = Postgres(tmp_path / ("deep" * 20) / ("deeper" * 20), tmp_path / "log")
    running = server.start()
    connect(server).close()
    assert server.stop(running) == 0


def test_postgres_shuts_down_fast_when_its_parent_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: "database system is shut down" in (tmp_path / "log").read_text())
    eventually(lambda: not (tmp_path / "data" / "postmaster.pid").exists())
