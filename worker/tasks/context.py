"""The context that a handler of the data worker receives."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore
from core.datasets import rows
from core.db import session_scope
from core.lanes import ONLY_SEAT, Seat
from core.models import DatasetVersion
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.tasks import TaskClaim
from worker.capacity import data_slots, list_gpus
from worker.jobs.launch.trainer_command import TRAINER
from worker.lease import Lease
from worker.memory_limit import memory_limit
from worker.process import DATABASE_UNAVAILABLE, StopRequest
from worker.tasks.check_server import CheckServer
from worker.tasks.command import OnLine, run_command

_CHECK = (*TRAINER, "check")
_REPORT_SECONDS = 1.0
_ROWS_PER_REPORT = 1000


class ReturnToQueue(Exception):
    """The task goes back to the queue, because the worker stops or a more urgent task waits."""


class TaskContext:
    """One attempt at one data task."""

    def __init__(
        self,
        claim: TaskClaim,
        lease: Lease,
        stop: StopRequest,
        settings: Settings,
        blobs: BlobStore,
        seat: Seat = ONLY_SEAT,
        checks: CheckServer | None = None,
    ) -> None:
        self._seat, self._checks = seat, checks
        self._claim, self._lease, self._stop = claim, lease, stop
        self._reported_at = self._yielded_at = self._looked_at = 0.0
        self.settings = settings
        self.blobs = blobs
        self.owner_id = claim.owner_id
        self.args = claim.args
        self.task_id = claim.task_id
        self.finished = False
        """Whether the handler has written the task's end itself."""

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, on the disk of the data folder."""
        folder = self.settings.data_dir / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def check(self) -> None:
        """Raises TaskCancelled, LeaseLost or ReturnToQueue, which a handler must not catch.

        Looks into the database at most once a second, so that a cancelled task ends before the next heartbeat.
        """
        self._lease.check_not_expired()
        if self._stop.requested:
            raise ReturnToQueue
        now = time.monotonic()
        if now >= self._looked_at + _REPORT_SECONDS:
            self._looked_at = now
            with suppress(*DATABASE_UNAVAILABLE), session_scope() as session:
                tasks.refuse_cancelled(session, self._claim)

    def report(self, fraction: float, note: str = "") -> None:
        """Report progress, from 0 to 1, with a note for people. Writes at most once a second. Raises as `check`."""
        self.check()
        now = time.monotonic()
        if now >= self._reported_at + _REPORT_SECONDS:
            self._reported_at = now
            with session_scope() as session:
                tasks.report_progress(session, self._claim, fraction, note)

    def require_held(self, session: Session) -> None:
        """Lock the task, so that no other attempt can begin before this transaction ends.

        Raises TaskCancelled or LeaseLost.
        """
        tasks.held(session, self._claim)

    def finish(self, session: Session) -> None:
        """End the task in this transaction. A handler must do nothing after it."""
        tasks.finish(session, self._claim, TaskStatus.SUCCEEDED)
        self.finished = True

    def yield_to_urgent(self) -> None:
        """Raises ReturnToQueue if a more urgent task waits. For a handler that can continue where it was."""
        now = time.monotonic()
        if now >= self._yielded_at + _REPORT_SECONDS:
            self._yielded_at = now
            with session_scope() as session:
                if tasks.foreground_task_waits(session, self._seat):
                    raise ReturnToQueue

    def run_command(
        self,
        command: Sequence[str],
        on_line: OnLine | None = None,
        *,
        cwd: Path | None = None,
        span: tuple[float, float] = (0.0, 1.0),
        check: Callable[[], None] | None = None,
        shared: bool = False,
    ) -> None:
        """Run a command such as `[*TRAINER, "report", …]` to its end, in a process group that ends with the task.

        Each line of its standard output that is a JSON object goes to `on_line`. A line `{"progress": 0.4, "note": "…"}`
        is reported as a part of `span`. `check` is called several times a second; if it raises, the command is killed.
        `shared`: the default limit of memory is divided by the slots of the data worker, for a command that loads no model.
        Raises CommandFailed.
        """
        first, last = span

        def check_all() -> None:
            self.check()
            if check is not None:
                check()

        def read_line(line: dict[str, Any]) -> None:
            if isinstance(line.get("progress"), int | float):
                self.report(first + (last - first) * float(line["progress"]), str(line.get("note", "")))
            if on_line is not None:
                on_line(line)

        on_gpu = bool(list_gpus(self.settings.cuda_visible_devices))
        name = f"{self.task_id}-{self._claim.attempt}"
        slots = data_slots(self.settings) if shared else 1
        memory = memory_limit(self.settings.trainer_memory_gib, name, on_gpu=on_gpu, slots=slots)
        try:
            if self._checks is not None and tuple(command[: len(_CHECK)]) == _CHECK:
                self._checks.run(command[len(TRAINER) :], cwd or self.scratch, check_all, memory)
            else:
                run_command(command, cwd or self.scratch, read_line, check_all, memory)
        finally:
            memory.close()

    def version_rows(self, version: DatasetVersion) -> Iterator[tuple[int, dict[str, Any]]]:
        """All rows of a version with their numbers. Reading them is reported as the first tenth of the task."""
        total = version.content.rows if version.content else 1
        for stored in rows.stream(self.blobs, version):
            if stored.number % _ROWS_PER_REPORT == 0:
                self.report(0.1 * stored.number / total, f"Reading row {stored.number:,} of {total:,}")
            yield stored.number, stored.row
