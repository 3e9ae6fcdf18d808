"""Start a process that ends when we do, however we end.

A supervisor, a worker or a test run may be killed with SIGKILL, and then nothing of theirs may stay behind: no server
that holds a data folder, no trainer that holds a GPU. On Linux the kernel promises it (PR_SET_PDEATHSIG). The setting is
made by `child_exec.py` between fork and exec: a `preexec_fn` would run Python in a copy of a process that may have
threads, which can deadlock. Elsewhere a watcher process does the same, by a pipe.

Each child leads a session of its own, so that Ctrl-C in a terminal reaches only us and we choose the order in which
things stop. What it starts belongs to its process group and is killed with it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

_SHIM = Path(__file__).with_name("child_exec.py")
_HAS_PARENT_DEATH_SIGNAL = sys.platform == "linux"
Output = int | IO[bytes]
Identity = Literal["ours", "namespace", "nobody"]
"""Who the child is: as we are, or (as root on Linux) nobody, inside a user namespace or for real."""


class Child:
    """A running process of ours. `start` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int | None) -> None:
        self._process = process
        self._pipe = pipe
        self._swept = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status once it has ended (negative: the signal that ended it), with nothing of its group left."""
        return self._ended(self._process.poll())

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired`."""
        status = self._process.wait(timeout)
        self._ended(status)
        return status

    def send(self, number: int) -> None:
        """Signal the process itself, not what it started."""
        self._process.send_signal(number)

    def stop(self, grace: float, number: int = signal.SIGTERM) -> int:
        """Ask it to end; after `grace` seconds kill it and all that it started. Returns the exit status."""
        if self.poll() is None:
            self.send(number)
        try:
            return self.wait(grace)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """End it and all that it started, now."""
        if self.poll() is None:
            self._kill_group()
        return self.wait()

    def _ended(self, status: int | None) -> int | None:
        if status is not None and not self._swept:
            self._swept = True  # once: later the number may be somebody else's
            self._kill_group()
            self._close_pipe()
        return status

    def _kill_group(self) -> None:
        # macOS answers EPERM for a group of which only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


def start(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: Output = subprocess.DEVNULL,
    stderr: Output = subprocess.STDOUT,
    death_signal: int = signal.SIGKILL,
    identity: Identity = "ours",
    by_pipe: bool = not _HAS_PARENT_DEATH_SIGNAL,
) -> Child:
    """Start `command`; it gets `death_signal` when this process ends."""
    if threading.current_thread() is not threading.main_thread():
        # The kernel sends the signal when the *thread* that forked ends.
        raise RuntimeError("start children from the main thread")
    read_end, write_end = os.pipe() if by_pipe else (-1, None)
    shim = [
        sys.executable,
        "-I",
        "-S",
        str(_SHIM),
        str(os.getpid()),
        str(int(death_signal)),
        identity,
        str(read_end),
        "--",
    ]
    try:
        process = subprocess.Popen(
            [*shim, *command],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=(read_end,) if by_pipe else (),
        )
    finally:
        if by_pipe:
            os.close(read_end)
    return Child(process, write_end)
