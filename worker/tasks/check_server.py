"""Keeps a process of the trainer that has imported torch, so that a check does not wait seconds for the import."""

import contextlib
import json
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from core import child
from worker.jobs.launch import TRAINER, environment
from worker.memory_limit import MemoryLimit
from worker.tasks.command import CommandFailed

_POLL_SECONDS = 0.2
_SHOWN_LINES = 20


class _ServerEnded(Exception):
    """The server has ended: it was idle, or the kernel ended it."""


class CheckServer:
    """A server for the checks of one slot, one at a time. It starts with the first check, and again after it has ended."""

    def __init__(self) -> None:
        self._server: child.Child | None = None
        self._requests = self._answers = -1

    def run(self, arguments: Sequence[str], cwd: Path, check: Callable[[], None], memory: MemoryLimit) -> None:
        """Run `python -m trainer` with these arguments. Raises as `run_command`, and what `check` raises."""
        errors = cwd / "check-errors.log"
        request = {"arguments": list(arguments), "folder": str(cwd), "errors": str(errors)}
        limits = {"data_bytes": memory.rules.data_bytes, "cgroup": str(memory.rules.cgroup or "")}
        status = self._status(json.dumps(request | limits), check, memory.rules.oom_score_adj)
        if status == -signal.SIGKILL and (why := memory.why_killed()) is not None:
            raise CommandFailed(why, "out_of_memory")
        if status != 0:
            last = "\n".join(deque(errors.read_text(errors="replace").splitlines(), _SHOWN_LINES)) or "none"
            raise CommandFailed(f"The command ended with status {status}. Its last output: {last}", None)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.kill()
            os.close(self._requests)
            os.close(self._answers)
            self._server = None

    def _status(self, request: str, check: Callable[[], None], score: int) -> int:
        """The exit status of the check. A server that ended before the check began is replaced once."""
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
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)  # its parent has not waited for it, or the answer would be here
            self._number(lambda: None)
            raise

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
            self.close()  # while torch is being imported, no process makes the check yet
            raise

    def _start(self, score: int) -> None:
        theirs_in, self._requests = os.pipe()
        self._answers, theirs_out = os.pipe()
        try:
            rules = child.MemoryRules(score)
            command = [*TRAINER, "check-server"]
            self._server = child.start(
                command, env=environment(), stdin=theirs_in, stdout=theirs_out, stderr=2, memory=rules
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def _number(self, check: Callable[[], None]) -> int:
        """The next line of the server."""
        line = b""
        while not line.endswith(b"\n"):
            check()
            if select.select([self._answers], [], [], _POLL_SECONDS)[0]:
                part = os.read(self._answers, 1)
                if not part:
                    raise _ServerEnded
                line += part
        return int(line)
