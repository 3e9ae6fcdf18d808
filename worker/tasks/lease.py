"""Holding on to a data task: a thread that renews its lease, and learns when it is wanted no longer."""

import logging
import time
from types import TracebackType

from core import tasks
from core.db import session_scope
from core.errors import LeaseLost
from core.settings import Settings
from core.tasks import TaskCancelled, TaskClaim
from worker.process import AWAY, Beat, StopRequest

log = logging.getLogger(__name__)


class Stopping(Exception):
    """The task goes back to the queue: the worker is to end, or the task gives way to another."""


class Hold:
    """While entered, the task stays ours, as long as the database says so."""

    def __init__(self, claim: TaskClaim, settings: Settings, stop: StopRequest) -> None:
        self._claim, self._stop = claim, stop
        self._seconds = settings.lease_seconds
        self._until = time.monotonic() + self._seconds
        self._why: LeaseLost | TaskCancelled | None = None
        self._beat = Beat("data-lease", settings.heartbeat_seconds, self._keep)

    def __enter__(self) -> "Hold":
        self._beat.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._beat.stop()

    def check(self) -> None:
        """Raise TaskCancelled, LeaseLost or Stopping, whichever is so."""
        if self._why is not None:
            raise self._why
        if time.monotonic() > self._until:
            raise LeaseLost(f"Nobody has confirmed that we hold {self._claim.task_id} for {self._seconds:g} s.")
        if self._stop.requested:
            raise Stopping

    def _keep(self) -> bool:
        asked_at = time.monotonic()
        try:
            with session_scope() as session:
                tasks.renew(session, self._claim)
            self._until = asked_at + self._seconds
        except (LeaseLost, TaskCancelled) as why:
            self._why = why
        except AWAY as error:
            log.warning("%s: could not renew the lease: %s", self._claim.task_id, error)
        return self._why is None
