"""Child processes end with their parent, even if it is killed."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from core import child
from tests.processes import alive
from tests.waiting import eventually

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)
PARENT = """
import sys, time
from core import child
from tests.processes import alive
from tests.waiting import eventually
kept = child.start([sys.executable, "-c", sys.argv[1]], by_pipe=sys.argv[2] == "pipe", death_signal=int(sys.argv[3]))
print(kept.pid, flush=True)
time.sleep(60)
"""


def python(code: str, output: Path) -> child.Child:
    with output.open("wb") as file:
        return child.start([sys.executable, "-c", code], stdout=file)


@pytest.mark.parametrize("how", ["kernel", "pipe"])
def test_child_ends_when_its_parent_is_killed(how: str) -> None:
    command = [sys.executable, "-c", PARENT, "import time; time.sleep(60)", how, str(int(signal.SIGKILL))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        eventually(lambda: alive(pid))
        parent.kill()
    eventually(lambda: not alive(pid))


def test_the_death_signal_can_be_a_polite_one(tmp_path: Path) -> None:
    ready, said = tmp_path / "ready", tmp_path / "said"
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        f"def end(*_): Path({str(said)!r}).touch(); sys.exit()\n"
        f"signal.signal(signal.SIGTERM, end); Path({str(ready)!r}).touch(); time.sleep(60)"
    )
    command = [sys.executable, "-c", PARENT, code, "kernel", str(int(signal.SIGTERM))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        eventually(ready.exists)
        parent.kill()
    eventually(said.exists)


def test_child_stop_sends_sigterm_first(tmp_path: Path) -> None:
    running = child.start(["sleep", "60"])
    assert running.poll() is None
    assert running.stop(grace=5) == -signal.SIGTERM


def test_child_stop_kills_a_child_that_ignores_sigterm(tmp_path: Path) -> None:
    output = tmp_path / "out"
    running = python(IGNORES_TERM, output)
    eventually(lambda: output.read_text() == "up\n")
    assert running.stop(grace=0.1) == -signal.SIGKILL


def test_grandchildren_go_with_the_child(tmp_path: Path) -> None:
    output = tmp_path / "out"
    code = "import subprocess; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True)"
    running = python(code, output)
    assert running.wait(10) == 0
    grandchild = int(output.read_text())
    eventually(lambda: not alive(grandchild))


def test_child_is_the_leader_of_a_new_session() -> None:
    running = child.start(["sleep", "60"])
    try:
        assert os.getsid(running.pid) == running.pid != os.getsid(0)
    finally:
        running.kill()


def test_signals_that_python_ignores_are_back_to_normal(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with output.open("wb") as file:
        child.start(["grep", "SigIgn", "/proc/self/status"], stdout=file).wait()
    ignored = int(output.read_text().split()[1], 16)
    assert not any(ignored >> (number - 1) & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with output.open("wb") as file:
        assert child.start(["no-such-program"], stdout=file).wait() == 127
    assert output.read_text() == "cannot run no-such-program: No such file or directory\n"


def test_only_the_main_thread_may_start_one() -> None:
    caught: list[Exception] = []

    def attempt() -> None:
        try:
            child.start(["true"])
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert len(caught) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give itself away")
@pytest.mark.parametrize("identity", ["namespace", "nobody"])
def test_child_of_root_with_other_uid_can_read_root_folders(identity: child.Identity, tmp_path: Path) -> None:
    secret = tmp_path / "private" / "secret"
    secret.parent.mkdir(mode=0o700)
    secret.write_text("hello")
    output = tmp_path / "out"
    with output.open("wb") as file:
        child.start(["sh", "-c", f"id -u; cat {secret}"], stdout=file, identity=identity).wait()
    if "refused" in output.read_text() or "Errno 1" in output.read_text():
        pytest.skip(f"this machine does not allow it: {output.read_text()}")
    assert output.read_text() == "65534\nhello"
