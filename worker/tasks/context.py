"""What a handler of the data worker is given."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore
from core.db import session_scope
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.tasks import TaskClaim
from worker.tasks import command as child_run
from worker.tasks.lease import Hold, Stopping

_TELL_SECONDS = 1.0
OnLine = Callable[[dict[str, Any]], None]


class TaskRun:
    """One try at one data task."""

    def __init__(self, claim: TaskClaim, hold: Hold, settings: Settings, blobs: BlobStore) -> None:
        self._claim, self._hold = claim, hold
        self._told_at = self._looked_at = 0.0
        self.settings = settings
        self.blobs = blobs
        self.owner_id = claim.owner_id
        self.args = claim.args
        self.task_id = claim.task_id
        self.ended = False
        """Whether the handler has written the task's end itself."""

    @property
    def scratch(self) -> Path:
        """A folder for drafts, on the data folder's disk."""
        folder = self.settings.data_dir / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def tell(self, fraction: float, note: str = "") -> None:
        """How far it is, from 0 to 1, and at what. Cheap: call it often.

        Raises TaskCancelled, LeaseLost or Stopping (worker/tasks/lease.py), which a handler lets pass.
        """
        self._hold.check()
        now = time.monotonic()
        if now >= self._told_at + _TELL_SECONDS:
            self._told_at = now
            with session_scope() as session:
                tasks.tell(session, self._claim, fraction, note)

    def require_held(self, session: Session) -> None:
        """What this transaction writes, it writes as the task's holder: nobody can take the task before it ends.

        Raises TaskCancelled or LeaseLost.
        """
        tasks.held(session, self._claim)

    def end(self, session: Session) -> None:
        """It is done once this transaction is, and not a moment later. Only as a handler's very last."""
        tasks.finish(session, self._claim, TaskStatus.DONE)
        self.ended = True

    def give_way(self) -> None:
        """For a handler that can go on where it was: back to the queue, if there is a task that somebody waits for."""
        now = time.monotonic()
        if now >= self._looked_at + _TELL_SECONDS:
            self._looked_at = now
            with session_scope() as session:
                if tasks.somebody_waits(session):
                    raise Stopping

    def child(
        self,
        command: Sequence[str],
        on_line: OnLine | None = None,
        *,
        cwd: Path | None = None,
        span: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Run a command to its end, such as `[*TRAINER, "report", …]`, in a group of its own that ends with the task.

        Each line of its standard output that is a JSON object goes to `on_line`; `{"progress": 0.4, "note": "…"}` is told,
        as a part of `span`. CommandFailed if it ends with another status than 0: with code and message of the last
        `{"error": {"code", "message"}}` where it wrote one, else with its last words.
        """
        first, last = span

        def heard(line: dict[str, Any]) -> None:
            if isinstance(line.get("progress"), int | float):
                self.tell(first + (last - first) * float(line["progress"]), str(line.get("note", "")))
            if on_line is not None:
                on_line(line)

        child_run.run(command, cwd or self.scratch, heard, self._hold.check)
