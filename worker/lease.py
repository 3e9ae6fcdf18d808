"""Holding on to a job: a thread that renews the lease in the database and passes it on to the trainer."""

import logging
import time
from pathlib import Path
from types import TracebackType

from core import jobs
from core.db import session_scope
from core.errors import LeaseLost
from core.jobs import Claim
from core.settings import Settings
from worker.process import AWAY, Beat

log = logging.getLogger(__name__)


class Lease:
    """While entered, the job stays ours, as long as the database says so.

    The trainer looks into `file` at every step: should this process hang or be stopped, it ends by itself before another
    attempt can begin, and nothing of it is saved over the other's work.
    """

    def __init__(self, claim: Claim, file: Path, settings: Settings) -> None:
        self._claim = claim
        self._file = file
        self._seconds = settings.lease_seconds
        self._until = 0.0
        self._beat = Beat("lease", settings.heartbeat_seconds, self._keep)
        self.lost = False
        self.cancel_requested = False

    @property
    def expired(self) -> bool:
        """Nobody has refused us, but neither has anybody confirmed us in time."""
        return time.time() > self._until

    def __enter__(self) -> "Lease":
        self._renew()
        self._beat.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._beat.stop()

    def check(self) -> None:
        """Raise LeaseLost once it is."""
        if self.lost:
            raise LeaseLost(f"Attempt {self._claim.attempt} no longer holds {self._claim.job_id}.")

    def _keep(self) -> bool:
        try:
            self._renew()
        except LeaseLost:
            self.lost = True
            self._tell_trainer(0.0)
        except AWAY as error:
            log.warning("%s: could not renew the lease: %s", self._claim.job_id, error)
        except OSError as error:
            # The next beat may write it; if none does, the trainer ends by itself.
            log.warning("%s: could not tell the trainer of its lease: %s", self._claim.job_id, error)
        return not self.lost

    def _renew(self) -> None:
        # Counted from before the question: the database's lease then ends no earlier than ours.
        asked_at = time.time()
        with session_scope() as session:
            state = jobs.renew_lease(session, self._claim.job_id, self._claim.attempt)
        self.cancel_requested = state.cancel_requested
        self._until = asked_at + self._seconds
        self._tell_trainer(self._until)

    def _tell_trainer(self, until: float) -> None:
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{until:.3f}\n")
        draft.replace(self._file)
