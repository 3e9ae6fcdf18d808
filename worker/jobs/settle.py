"""What a trainer's end means for its job."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core import jobs
from core.jobs import Claim
from core.models.jobs import JobStatus
from trainer.errors import Paused, ProcessLost, Stopped, TrainerError
from trainer.events import RunFailed, RunFinished, RunStopped

# The second: while it was still importing, before it could listen.
_STOPPED = (Stopped.exit_status, -signal.SIGTERM)


def _kinds(of: type[TrainerError]) -> Iterator[type[TrainerError]]:
    for kind in of.__subclasses__():
        yield kind
        yield from _kinds(kind)


# Whatever kinds there are. Status 1 is also what Python ends with when it fails for a reason of its own.
_CODES = {
    kind.exit_status: kind.code
    for kind in _kinds(TrainerError)
    if not issubclass(kind, Stopped | ProcessLost) and kind.exit_status != TrainerError.exit_status
}


@dataclass(frozen=True)
class End:
    """How a trainer ended, and what we had asked of it."""

    status: int
    """Exit status; negative: the signal that ended it."""
    finished: RunFinished | None
    failed: RunFailed | None
    stopped: RunStopped | None
    last_words: str
    cancel_requested: bool
    stop_requested: bool
    killed_by_us: bool


def settle(session: Session, claim: Claim, end: End) -> JobStatus:
    """Write the end of the attempt into the job; answer the job's new status."""
    job = (claim.job_id, claim.attempt)
    if end.status == 0 and end.finished:
        jobs.finish(session, *job, JobStatus.SUCCEEDED, "The run has finished.", summary=end.finished.summary)
        return JobStatus.SUCCEEDED
    if end.cancel_requested:
        jobs.finish(session, *job, JobStatus.CANCELLED, "Cancelled; the trainer has stopped.")
        return JobStatus.CANCELLED
    if end.failed and end.failed.code != ProcessLost.code:  # that is only what the others saw of it
        return _fail(session, claim, end.failed.code, end.failed.message)
    if end.status == Paused.exit_status:  # run again by itself, it would only go on with what a person should look at
        return _fail(session, claim, "paused_by_health", _why_paused(end))
    if end.killed_by_us or end.status in _STOPPED:
        return jobs.release(session, *job, _why_released(end))
    if end.status == -signal.SIGKILL:
        reason = "The trainer was killed from outside (SIGKILL): the machine has probably run out of memory."
        return jobs.lose(session, *job, reason)
    if end.status == ProcessLost.exit_status:
        return jobs.lose(session, *job, "A process of the run ended, on another machine or unseen.")
    if end.status in _CODES:
        return _fail(session, claim, _CODES[end.status], end.last_words or _crash(end))
    return _fail(session, claim, "trainer_crashed", _crash(end))


def _fail(session: Session, claim: Claim, code: str, message: str) -> JobStatus:
    error: dict[str, Any] = {"code": code, "message": message}
    jobs.finish(session, claim.job_id, claim.attempt, JobStatus.FAILED, message, error=error)
    return JobStatus.FAILED


def _why_released(end: End) -> str:
    if end.stop_requested and end.status == Stopped.exit_status:
        return "The worker is shutting down; the run was saved and will go on."
    who = "The worker is shutting down" if end.stop_requested else "The trainer was stopped"
    return f"{who}; the run will go on from its last checkpoint."


def _why_paused(end: End) -> str:
    said = (end.stopped and end.stopped.message) or end.last_words.rpartition("error: ")[2].strip()
    how = "To go on, submit a job that names its last checkpoint as `model.path`, with the setting changed."
    return f"A health rule paused the run, and it is saved. {said}".strip() + f" {how}"


def _crash(end: End) -> str:
    how = f"by signal {signal.Signals(-end.status).name}" if end.status < 0 else f"with status {end.status}"
    said = f" Its last words:\n{end.last_words}" if end.last_words else " It said nothing."
    return f"The trainer ended unexpectedly, {how}.{said}"
