"""Runs a command of the trainer for a data task. The command writes lines of JSON and ends with the task."""

import json
import os
import select
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from core import child
from core.errors import PlatformError
from worker.jobs.launch.trainer_command import environment
from worker.memory_limit import MemoryLimit

LOW_PRIORITY = ("--nice", "10")
"""Options that let running jobs go first."""
OnLine = Callable[[dict[str, Any]], None]
_POLL_SECONDS = 0.2
_CHUNK = 64 * 1024
_SHOWN_LINES = 20


class CommandTimedOut(PlatformError):
    """A command took longer than it may."""

    code = "timed_out"
    title = "A command of the data worker took too long."


class CommandFailed(PlatformError):
    """A command ended with a status other than 0. `reported_code`: the error code that it wrote, if any."""

    code = "command_failed"
    title = "A command of the data worker failed."

    def __init__(self, detail: str, reported_code: str | None) -> None:
        super().__init__(detail)
        self.reported_code = reported_code


def run_command(
    command: Sequence[str], cwd: Path, on_line: OnLine, check: Callable[[], None], memory: MemoryLimit
) -> None:
    """Run a command to its end. `check` is called several times a second; if it raises, the command is killed.

    Lines of standard output that are JSON objects go to `on_line`. Raises CommandFailed with the message of a line
    `{"error": {"code", "message"}}`, else with the last lines of standard error.
    """
    error: dict[str, Any] = {}
    with tempfile.TemporaryFile(dir=cwd) as stderr:
        process, output = _start(command, cwd, stderr, memory.rules)
        try:
            for line in _lines(process, output, check):
                error = line["error"] if isinstance(line.get("error"), dict) else error
                on_line(line)
            status = _wait(process, check)
        finally:
            process.kill()
            os.close(output)
        if status == -signal.SIGKILL and (why := memory.why_killed()) is not None:
            raise CommandFailed(why, "out_of_memory")
        if status != 0:
            stderr.seek(0)
            last = b"".join(deque(stderr, _SHOWN_LINES)).decode(errors="replace").strip()
            text = error.get("message") or f"The command ended with status {status}. Its last output: {last or 'none'}"
            raise CommandFailed(str(text), error.get("code"))


def _start(command: Sequence[str], cwd: Path, stderr: IO[bytes], memory: child.MemoryRules) -> tuple[child.Child, int]:
    """The process, and the descriptor from which its standard output is read."""
    read_end, write_end = os.pipe()
    try:
        process = child.start(command, cwd=cwd, env=environment(), stdout=write_end, stderr=stderr, memory=memory)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return process, read_end


def _lines(process: child.Child, output: int, check: Callable[[], None]) -> Iterator[dict[str, Any]]:
    """The JSON objects on standard output, until it is closed, or the process has ended and left nothing to read."""
    rest = b""
    while True:
        check()
        if select.select([output], [], [], _POLL_SECONDS)[0]:
            chunk = os.read(output, _CHUNK)
            *whole, rest = (rest + chunk).split(b"\n") if chunk else (rest, b"")
            yield from filter(None, map(_parsed, whole))
            if not chunk:
                return
        elif process.poll() is not None:
            return


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON object of the line; None for other text, such as the output of a library."""
    try:
        result = json.loads(line)
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def _wait(process: child.Child, check: Callable[[], None]) -> int:
    while True:
        try:
            return process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            check()
