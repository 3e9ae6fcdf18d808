"""Keeps the lease of a job or a data task: a thread renews it, and reports when it is lost."""

import logging
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from sqlalchemy.orm import Session

from core.db import session_scope
from core.errors import LeaseLost
from core.settings import Settings
from core.tasks import TaskCancelled
from worker.process import DATABASE_UNAVAILABLE, PeriodicThread

log = logging.getLogger(__name__)


class EndRequest(StrEnum):
    """The end of an attempt that a user or an operator has asked for."""

    CANCEL = "cancel"
    PAUSE = "pause"
    DRAIN = "drain"


class Lease:
    """While entered, a thread renews the lease.

    `renew` extends it in the database, and returns the end that was requested, if any. `name` is that of the row, for
    messages. With a `file`, the end of the lease is written there as Unix time, and the first renewal happens on entry.
    The trainer reads the file at every step. If this process hangs or is stopped, the trainer ends by itself before another
    attempt can begin. So it overwrites nothing of that attempt. `seconds`: the time of a renewal, where it is not the setting's.
    """

    def __init__(
        self,
        name: str,
        renew: Callable[[Session], EndRequest | None],
        settings: Settings,
        file: Path | None = None,
        seconds: float | None = None,
    ) -> None:
        self._name, self._renew_row, self._file = name, renew, file
        self._seconds = settings.lease_seconds if seconds is None else seconds
        self._expires_at = time.monotonic() + self._seconds
        self._lost: LeaseLost | TaskCancelled | None = None
        self._thread = PeriodicThread("lease", settings.heartbeat_seconds, self._keep)
        self.end_requested: EndRequest | None = None
        """The value of the last renewal."""

    @property
    def expired(self) -> bool:
        """Whether no renewal has succeeded for the time of a lease. The row may still be ours."""
        return time.monotonic() > self._expires_at

    def __enter__(self) -> "Lease":
        if self._file is not None:
            self._renew()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._thread.stop()

    def check(self) -> None:
        """Raises LeaseLost or TaskCancelled once a renewal has been refused."""
        if self._lost is not None:
            raise self._lost

    def check_not_expired(self) -> None:
        """Raises as `check`, and LeaseLost if the lease may have expired."""
        self.check()
        if self.expired:
            raise LeaseLost(f"The lease of {self._name} could not be renewed for {self._seconds:g} s.")

    def _keep(self) -> bool:
        try:
            self._renew()
        except (LeaseLost, TaskCancelled) as error:
            self._lost = error
            self._write(0.0)
        except DATABASE_UNAVAILABLE as error:
            log.warning("%s: could not renew the lease: %s", self._name, error)
        except OSError as error:
            # A later renewal may succeed in writing it. Otherwise the trainer ends by itself.
            log.warning("%s: could not write the lease file: %s", self._name, error)
        return self._lost is None

    def _renew(self) -> None:
        # Counted from before the request, so that the lease in the database ends no earlier than the one here.
        asked_at, asked_at_unix = time.monotonic(), time.time()
        with session_scope() as session:
            self.end_requested = self._renew_row(session)
        self._expires_at = asked_at + self._seconds
        self._write(asked_at_unix + self._seconds)

    def _write(self, expires_at: float) -> None:
        if self._file is not None:
            draft = self._file.with_suffix(".new")
            draft.write_text(f"{expires_at:.3f}\n")
            draft.replace(self._file)
