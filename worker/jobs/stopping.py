"""Stops the trainer of an attempt: a signal to save and end, and a kill after a grace time."""

import logging

from worker.jobs.context import AttemptContext
from worker.jobs.launch.interface import Trainer

log = logging.getLogger(__name__)


class TrainerStop:
    """Watches for the reasons to stop a trainer. `ends_at` is the monotonic time at which the job's time limit is over."""

    def __init__(self, attempt: AttemptContext, trainer: Trainer, ends_at: float) -> None:
        self._attempt, self._trainer, self._ends_at = attempt, trainer, ends_at
        self._asked_at: float | None = None
        self.killed = False
        """Whether the worker has killed the trainer."""
        self.limit_reached = False
        """Whether the time limit alone was the reason."""

    def check(self, now: float) -> None:
        """Ask the trainer to end if it must, and kill it once the grace time is over."""
        must_end = self._attempt.must_end()
        if self._asked_at is None and (must_end or now > self._ends_at):
            self.limit_reached = not must_end
            log.info("%s: asking the trainer to save and end", self._attempt.claim.job_id)
            self._trainer.ask_to_end()
            self._asked_at = now
        grace_is_over = self._asked_at is not None and now > self._asked_at + self._attempt.grace_seconds()
        if self._attempt.worker.stop.urgent or grace_is_over:
            self.killed = True
            self._trainer.kill()
