"""A command that a data task runs: in a group of its own, which ends with the task; it speaks in lines of JSON."""

import json
import os
import select
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from core import child
from core.errors import PlatformError
from worker.jobs.launch import environment

_LOOK_SECONDS = 0.2
_PIECE = 64 * 1024
_LAST_LINES = 20
Look = Callable[[], None]


class CommandFailed(PlatformError):
    """A command ended with another status than 0. `told_code`: the one that it gave itself, where it gave one."""

    code = "command_failed"
    title = "A command of the data worker failed."

    def __init__(self, detail: str, told_code: str | None) -> None:
        super().__init__(detail)
        self.told_code = told_code


def run(command: Sequence[str], cwd: Path, on_line: Callable[[dict[str, Any]], None], look: Look) -> None:
    """Run it to its end. `look` is called a few times a second and may raise; the command is killed then.

    Lines of its standard output that are JSON objects go to `on_line`. Raises CommandFailed: with what it said in a line
    `{"error": {"code", "message"}}`, else with the last lines that it wrote to standard error.
    """
    error: dict[str, Any] = {}
    with tempfile.TemporaryFile(dir=cwd) as words:
        process, output = _start(command, cwd, words)
        try:
            for line in _lines(process, output, look):
                error = line["error"] if isinstance(line.get("error"), dict) else error
                on_line(line)
            status = _end(process, look)
        finally:
            process.kill()
            os.close(output)
        if status != 0:
            words.seek(0)
            last = b"".join(deque(words, _LAST_LINES)).decode(errors="replace").strip()
            told = error.get("message") or f"The command ended with status {status}. Its last words: {last or 'none'}"
            raise CommandFailed(str(told), error.get("code"))


def _start(command: Sequence[str], cwd: Path, words: IO[bytes]) -> tuple[child.Child, int]:
    """The process, and where its output is read."""
    read_end, write_end = os.pipe()
    try:
        process = child.start(command, cwd=cwd, env=environment(), stdout=write_end, stderr=words)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return process, read_end


def _lines(process: child.Child, output: int, look: Look) -> Iterator[dict[str, Any]]:
    """Until it has closed its output, or has ended and left nothing to read."""
    rest = b""
    while True:
        look()
        if select.select([output], [], [], _LOOK_SECONDS)[0]:
            piece = os.read(output, _PIECE)
            *whole, rest = (rest + piece).split(b"\n") if piece else (rest, b"")
            yield from filter(None, map(_parsed, whole))
            if not piece:
                return
        elif process.poll() is not None:
            return


def _parsed(line: bytes) -> dict[str, Any] | None:
    """What is no object of JSON is none of ours: a library's word."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(process: child.Child, look: Look) -> int:
    while True:
        try:
            return process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            look()
