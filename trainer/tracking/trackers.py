"""The trainer's side: starts the process of each tracker, reports its messages, and waits for it at the end."""

import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from trainer.events import Message, Metrics, read
from trainer.spec import JobSpec

Report = Callable[[Message], None]
RUN_ID = "run_id"
"""File of the run folder with the id of the run in its trackers. A platform writes the id of the job there."""


_PACKAGES = {"mlflow": "mlflow-skinny sqlalchemy alembic"}
"""The packages of the trackers that need others than that of their name."""


def missing_package(tracker: str) -> str | None:
    """How to install the tracker's package, as a sentence; None if it is installed. Imports nothing.

    The package has the name of the tracker.
    """
    if find_spec(tracker) is not None:
        return None
    return f"Install it beside the trainer: pip install {_PACKAGES.get(tracker, tracker)}."


@dataclass(frozen=True)
class TrackingFolder:
    """The files of a tracker in a run folder. Both the trainer and the tracker's process use them."""

    run_dir: Path
    tracker: str

    @property
    def state(self) -> Path:
        """How far the event log has been sent."""
        return self.run_dir / "tracking" / f"{self.tracker}.json"

    @property
    def config(self) -> Path:
        """The spec, for the tracker's process."""
        return self.run_dir / "tracking" / "spec.json"

    @property
    def events(self) -> Path:
        return self.run_dir / "events.jsonl"

    def sent(self) -> int:
        """Bytes of the event log that were sent."""
        try:
            return int(json.loads(self.state.read_text())["offset"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return 0

    def unsent_steps(self) -> int:
        return sum(isinstance(event, Metrics) for event, _ in read(self.events, self.sent()))


@contextmanager
def tracked(spec: JobSpec, run_dir: Path, report: Report) -> Iterator[None]:
    """While inside, the spec's trackers follow the run. At the end, they have `finish_seconds` to send the rest.

    Nothing here fails or waits during the run. A problem of a tracker is reported once.
    """
    processes = [process for name in spec.tracking.chosen if (process := _started(spec, run_dir, name, report))]
    try:
        yield
    finally:
        for process in processes:
            process.end_of_run()
        deadline = time.monotonic() + spec.tracking.finish_seconds
        for process in processes:
            process.finish(deadline)


def _started(spec: JobSpec, run_dir: Path, name: str, report: Report) -> "_Process | None":
    if advice := missing_package(name):
        report(Message(level="warning", text=f"The tracker {name} is not used: its package is missing. {advice}"))
        return None
    folder = TrackingFolder(run_dir, name)
    try:
        folder.config.parent.mkdir(exist_ok=True)
        folder.config.write_text(spec.model_dump_json())
        _ensure_run_id(run_dir)
        return _Process(folder, report)
    except OSError as error:
        report(Message(level="warning", text=f"The tracker {name} could not be started: {error}."))
        return None


def _ensure_run_id(run_dir: Path) -> None:
    if not (run_dir / RUN_ID).exists():
        (run_dir / RUN_ID).write_text(secrets.token_hex(8))


class _Process:
    """One tracker's process. It ends when its standard input is closed, even if this process is killed."""

    def __init__(self, folder: TrackingFolder, report: Report) -> None:
        self._folder, self._report, self._warned = folder, report, False
        command = [sys.executable, "-m", "trainer.tracking.sidecar", folder.tracker, str(folder.run_dir)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        arguments = (self._process.stdout,)
        self._reader = threading.Thread(
            target=self._read, args=arguments, name=f"tracker {folder.tracker}", daemon=True
        )
        self._reader.start()

    def end_of_run(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def finish(self, deadline: float) -> None:
        """Wait for the process until `deadline`, then kill it."""
        try:
            status = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = None
        self._reader.join(timeout=1.0)
        if status != 0:
            self._warn_about_end(status)

    def _warn_about_end(self, status: int | None) -> None:
        how = "did not end in time" if status is None else f"ended with status {status}"
        unsent = self._folder.unsent_steps()
        rest = f"; {unsent} steps were not sent" if unsent else ""
        self._report(Message(level="warning", text=f"The tracker {self._folder.tracker} {how}{rest}."))

    def _read(self, lines: IO[bytes]) -> None:
        with lines:
            for line in lines:
                with suppress(ValueError):
                    self._pass_on(Message.model_validate_json(line))

    def _pass_on(self, message: Message) -> None:
        """Report messages, and of several warnings the first."""
        if message.level != "info" and self._warned:
            return
        self._warned = self._warned or message.level != "info"
        self._report(message)
