"""Starts processes that end with this one, even if this one is killed with SIGKILL.

Otherwise a killed worker would leave a trainer on its GPU, and a killed supervisor a server on its data folder. On Linux
the kernel signals the child when its parent dies (PR_SET_PDEATHSIG). `child_exec.py` makes this setting between fork and
exec. A `preexec_fn` would run Python in the copy of a process with threads, which can deadlock. On other systems a watcher
process detects the end of its parent by a pipe.

Each child leads a session of its own. So Ctrl-C in a terminal reaches this process only, which stops its children in order.
Processes that a child starts belong to its process group, and are killed with it.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

_SHIM = Path(__file__).with_name("child_exec.py")
_HAS_PARENT_DEATH_SIGNAL = sys.platform == "linux"
Output = int | IO[bytes]
Identity = Literal["ours", "namespace", "nobody"]
"""The user of a child: the same as that of this process, or (from root on Linux) an unprivileged one.

`namespace`: unprivileged inside a user namespace only. `nobody`: the system user of that name.
"""


@dataclass(frozen=True)
class MemoryRules:
    """How the kernel treats the memory of a child. The processes that it starts inherit the rules."""

    oom_score_adj: int = 0
    """Added to the score by which a machine without memory chooses the process to kill: -1000 to 1000. Linux only."""
    data_bytes: int = 0
    """RLIMIT_DATA: the most bytes of private writable memory of each process; 0 for no limit. Allocations beyond it fail."""
    cgroup: Path | None = None
    """Folder of the control group to enter."""


NO_MEMORY_RULES = MemoryRules()


class Child:
    """A process that was started by `start`."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int | None) -> None:
        self._process = process
        self._pipe = pipe
        self._swept = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status (negative: the signal that ended it), or None while it runs. Its group is killed with it."""
        return self._ended(self._process.poll())

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Returns the exit status. Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        status = self._process.wait(timeout)
        self._ended(status)
        return status

    def send(self, number: int) -> None:
        """Send a signal to the process, but not to the rest of its group."""
        self._process.send_signal(number)

    def stop(self, grace: float, number: int = signal.SIGTERM) -> int:
        """Send a signal, and kill the group after `grace` seconds. Returns the exit status."""
        if self.poll() is None:
            self.send(number)
        try:
            return self.wait(grace)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """Kill the process and its group. Returns the exit status."""
        if self.poll() is None:
            self._kill_group()
        return self.wait()

    def _ended(self, status: int | None) -> int | None:
        if status is not None and not self._swept:
            self._swept = True  # once: later the number may belong to another process
            self._kill_group()
            self._close_pipe()
        return status

    def _kill_group(self) -> None:
        # macOS reports EPERM for a group of which only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


def start(  # noqa: PLR0913  # one for each property of a process
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: Output = subprocess.DEVNULL,
    stderr: Output = subprocess.STDOUT,
    death_signal: int = signal.SIGKILL,
    identity: Identity = "ours",
    memory: MemoryRules = NO_MEMORY_RULES,
    by_pipe: bool = not _HAS_PARENT_DEATH_SIGNAL,
) -> Child:
    """Start a command. The kernel or the watcher sends it `death_signal` when this process ends.

    Raises RuntimeError outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        # The kernel sends the signal when the *thread* that forked ends.
        raise RuntimeError("call core.child.start from the main thread")
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
        str(memory.oom_score_adj),
        str(memory.data_bytes),
        str(memory.cgroup or ""),
        "--",
    ]
    try:
        process = subprocess.Popen(
            [*shim, *command],
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=(read_end,) if by_pipe else (),
        )
    finally:
        if by_pipe:
            os.close(read_end)
    return Child(process, write_end)
