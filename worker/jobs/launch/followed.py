"""A trainer in a job of a cluster's engine: submitted, followed and ended by a thread, so that a slow engine delays no events."""

import json
import logging
import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.models import Job
from core.models.jobs import ACTIVE
from trainer.errors import Stopped
from trainer.events import RunFailed, RunFinished, RunStarted, RunStopped, read
from worker.jobs.launch.interface import RunToStart, Trainer
from worker.jobs.workspace import Workspace

_QUICK = 0.3
"""Seconds between two looks while the job starts or ends."""
_QUICK_FOR = 15.0
_LONGEST_PAUSE = 30.0
_CLOSE_SECONDS = 20.0
log = logging.getLogger(__name__)


def read_record(workspace: Workspace, name: str) -> dict[str, Any] | None:
    """The worker's record of the engine's job in the run folder; None if it had not begun to submit it.

    A damaged record is empty: the worker then looks for the job by its name.
    """
    path = workspace.folder / name
    try:
        recorded = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        log.warning("%s is damaged: %s", path, error)
        return {}
    return recorded if isinstance(recorded, dict) else {}


def write_record(workspace: Workspace, name: str, record: dict[str, Any]) -> None:
    """Replace the record as a whole."""
    draft = workspace.folder / f".{name}"
    draft.write_text(json.dumps(record))
    draft.replace(workspace.folder / name)


def stale_records(session: Session, data_dir: Path, name: str) -> Iterator[tuple[str, int, Path]]:
    """The job, the attempt and the record of each attempt with a record that no worker holds any more."""
    for record in (data_dir / "runs").glob(f"*/attempt-*/{name}"):
        job_id, attempt = record.parent.parent.name, int(record.parent.name.removeprefix("attempt-"))
        held = select(Job.id).where(Job.id == job_id, Job.attempt == attempt, Job.status.in_(ACTIVE))
        if session.scalars(held).one_or_none() is None:
            yield job_id, attempt, record


class FollowedTrainer(Trainer):
    """The thread and the requests of the worker. An engine defines one step of the thread.

    `errors`: what a step raises if the engine does not respond or refuses. The thread then calls `_note_trouble` and tries
    again, after longer and longer pauses.
    """

    errors: type[Exception]

    def __init__(self, run: RunToStart, name: str, poll_seconds: float, call_seconds: float) -> None:
        """`poll_seconds`: pause between two looks. `call_seconds`: longest time of one call of the engine."""
        self._run, self._poll_seconds, self._call_seconds = run, poll_seconds, call_seconds
        self._status: int | None = None
        self._ask = self._kill = self._asked = self._killed = False
        self._wake, self._closing = threading.Event(), False
        self._quick_until = time.monotonic() + _QUICK_FOR
        self._failures = 0
        self._crash: Exception | None = None
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def poll(self) -> int | None:
        """Raises what the thread did not expect: otherwise the worker would wait for ever."""
        if self._crash is not None:
            raise self._crash
        return self._status

    def ask_to_end(self) -> None:
        self._ask = True
        self._hurry()

    def kill(self) -> None:
        self._kill = True
        self._hurry()

    def close(self) -> None:
        """End the job if it runs, and wait until the engine has ended it, for a time. Its lease ends a trainer that remains."""
        if self._status is None:
            self.kill()
            self._thread.join(_CLOSE_SECONDS)
        self.leave()

    def leave(self) -> None:
        self._closing = True
        self._wake.set()
        self._thread.join(self._call_seconds)

    @abstractmethod
    def _step(self) -> None:
        """Submit the job, look at it, or end it. Sets `_status` once it has ended. Raises `errors`."""

    @abstractmethod
    def _note_trouble(self, error: Exception) -> None:
        """Note in `waiting` or `refused` why a step failed."""

    def _look_often(self) -> None:
        """Look more often for a while, from now on."""
        self._quick_until = time.monotonic() + _QUICK_FOR

    def _hurry(self) -> None:
        self._look_often()
        self._wake.set()

    def _loop(self) -> None:
        while self._status is None and not self._closing:
            try:
                self._step()
                self._failures = 0
            except self.errors as error:
                self._failures += 1
                self._note_trouble(error)
            except Exception as error:  # noqa: BLE001  `poll` raises it
                self._crash = error
                return
            self._wake.wait(self._pause())
            self._wake.clear()

    def _pause(self) -> float:
        if self._failures:
            return min(float(2 ** (self._failures - 1)), _LONGEST_PAUSE)
        quick = time.monotonic() < self._quick_until
        return min(_QUICK, self._poll_seconds) if quick else self._poll_seconds

    def _reported_status(self) -> int:
        """The exit status by the last event of the trainer, for a job that the engine has forgotten."""
        status = -signal.SIGKILL
        for event, _ in read(self._run.workspace.events):
            if isinstance(event, RunStarted):
                status = -signal.SIGKILL
            elif isinstance(event, RunFinished) and event.seed is None:
                status = 0
            elif isinstance(event, RunStopped):
                status = Stopped.exit_status
            elif isinstance(event, RunFailed) and event.seed is None:
                status = 1
        return status
