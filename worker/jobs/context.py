"""The parts of a worker that every attempt uses, and an attempt in progress with the requests to end it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.jobs.lifecycle.attempts import Claim
from core.settings import Settings
from worker.jobs.launch.interface import Launcher
from worker.jobs.workspace import Workspace
from worker.lease import EndRequest, Lease
from worker.process import StopRequest, with_retries

# A cancelled run need not be saved. A trainer that ignores the signal may be waiting for a model hub.
_CANCEL_SECONDS = 5.0
T = TypeVar("T")


class LeftRunning(Exception):
    """The worker ends, and the trainer goes on without it."""


@dataclass(frozen=True)
class WorkerContext:
    """The parts of a worker that every attempt uses."""

    settings: Settings
    blobs: BlobStore
    launcher: Launcher
    stop: StopRequest


@dataclass(frozen=True)
class AttemptContext:
    """An attempt in progress: its claim, its folder and its lease."""

    claim: Claim
    worker: WorkerContext
    workspace: Workspace
    lease: Lease

    @property
    def key(self) -> tuple[str, int]:
        """The id of the job and the number of the attempt, which every write names."""
        return self.claim.job_id, self.claim.attempt

    @property
    def cancel_requested(self) -> bool:
        return self.lease.end_requested is EndRequest.CANCEL

    def must_end(self) -> bool:
        """Whether a person, the worker's own end or an expired lease requires that the attempt ends."""
        return self.worker.stop.requested or self.lease.end_requested is not None or self.lease.expired

    def grace_seconds(self) -> float:
        """How long the trainer may take to save and end."""
        seconds = self.worker.settings.stop_seconds
        return min(_CANCEL_SECONDS, seconds) if self.cancel_requested else seconds

    def give_up(self) -> bool:
        """Whether retries must end. Raises LeaseLost if another attempt may have begun."""
        self.lease.check()
        return self.worker.stop.urgent

    def retried(self, action: Callable[[Session], T]) -> T:
        """The result of `action` in a transaction, repeated while the database is unavailable and the lease holds."""
        return with_retries(action, self.give_up)
