"""Keeps a process of the trainer that has imported torch, so that a check does not wait seconds for the import."""

import contextlib
import json
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from core import child
from worker.jobs.launch.trainer_command import TRAINER, environment
from worker.memory_limit import MemoryLimit
from worker.tasks.command import CommandFailed

_POLL_SECONDS = 0.2
_KILL_SECONDS = 5.0
_SHOWN_LINES = 20


class _ServerEnded(Exception):
    """The server has ended: it was idle, or the kernel ended it."""


class CheckServer:
    """A server for the checks of one slot, one at a time. It starts with the first check, and again after it has ended."""

    def __init__(self, command: Sequence[str] = (*TRAINER, "check-server")) -> None:
        self._command = command
        self._server: child.Child | None = None
        self._requests = self._answers = -1

    def run(self, arguments: Sequence[str], cwd: Path, check: Callable[[], None], memory: MemoryLimit) -> None:
        """Run `python -m trainer` with these arguments. Raises as `run_command`, and what `check` raises."""
        errors = cwd / "check-errors.log"
        request = {"arguments": list(arguments), "folder": str(cwd), "errors": str(errors)}
        limits = {"data_bytes": memory.rules.data_bytes, "cgroup": str(memory.rules.cgroup or "")}
        try:
            status = self._status(json.dumps(request | limits), check, memory.rules.oom_score_adj)
        except _ServerEnded:
            self.close()
            status, text = (
                -signal.SIGKILL,
                "The check could not be started. Look for the reason in the log of the data worker.",
            )
        else:
            text = f"The command ended with status {status}. Its last output: {_last_lines(errors)}"
        if status == -signal.SIGKILL and (why := memory.why_killed()) is not None:
            raise CommandFailed(why, "out_of_memory")
        if status != 0:
            raise CommandFailed(text, None)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.kill()
            os.close(self._requests)
            os.close(self._answers)
            self._server = None

    def _status(self, request: str, check: Callable[[], None], score: int) -> int:
        """The exit status of the check. A server that ended before the check began is replaced once.

        Raises _ServerEnded if the second one ends as well.
        """
        try:
            process = self._begin(request, check, score)
        except _ServerEnded:
            self.close()
            process = self._begin(request, check, score)
        try:
            return self._number(check)
        except _ServerEnded:
            self.close()
            return -signal.SIGKILL
        except BaseException:
            self._kill(process)
            raise

    def _kill(self, process: int) -> None:
        """Kill a check and the processes that it has started. A server that does not report its end is killed as well."""
        if not self._has_answer(0.0):  # else the server has waited for it, and its id may belong to another process
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
        try:
            self._number(_give_up_after(_KILL_SECONDS))
        except _ServerEnded:
            self.close()

    def _begin(self, request: str, check: Callable[[], None], score: int) -> int:
        """Start a check. Returns the id of its process."""
        if self._server is None:
            self._start(score)
        try:
            os.write(self._requests, f"{request}\n".encode())
        except BrokenPipeError as error:
            raise _ServerEnded from error
        try:
            return self._number(check)
        except _ServerEnded:
            raise
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """End a check whose process is not known yet. While torch is still being imported, no process makes it."""
        if not self._has_answer(0.0):
            self.close()
            return
        try:
            process = self._number(lambda: None)
        except _ServerEnded:
            self.close()
        else:
            self._kill(process)

    def _start(self, score: int) -> None:
        theirs_in, requests = os.pipe()
        answers, theirs_out = os.pipe()
        try:
            rules = child.MemoryRules(score)
            self._server = child.start(
                self._command, env=environment(), stdin=theirs_in, stdout=theirs_out, stderr=2, memory=rules
            )
        except BaseException:
            os.close(requests)
            os.close(answers)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._requests, self._answers = requests, answers

    def _number(self, check: Callable[[], None]) -> int:
        """The next line of the server, which it writes at once."""
        while not self._has_answer(_POLL_SECONDS):
            check()
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self._answers, 1)
            if not part:
                raise _ServerEnded
            line += part
        return int(line)

    def _has_answer(self, seconds: float) -> bool:
        """Whether the server has written something, or has ended, within this time."""
        return bool(select.select([self._answers], [], [], seconds)[0])


def _last_lines(errors: Path) -> str:
    if not errors.exists():
        return "none"
    return "\n".join(deque(errors.read_text(errors="replace").splitlines(), _SHOWN_LINES)) or "none"


def _give_up_after(seconds: float) -> Callable[[], None]:
    """A function that raises _ServerEnded once the time is over."""
    ends_at = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > ends_at:
            raise _ServerEnded

    return check
