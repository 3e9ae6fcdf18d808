"""Turns the end of a trainer into the new status of its job."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core.jobs.lifecycle import actors, attempts
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.attempts import Claim
from core.models.jobs import JobStatus
from trainer.errors import DiskFull, Hang, Paused, ProcessLost, RestartAfterHang, RunFolderInUse, Stopped, TrainerError
from trainer.events import RunFailed, RunFinished, RunStopped
from worker.jobs.launch.interface import EngineEnd

TIME_LIMIT = "time_limit"
"""The code of a job that has run as long as the platform allows."""
# The second one: a SIGTERM during the imports, before the trainer installed its handler.
_KILLED = "The trainer was killed by SIGKILL. The kernel reports no lack of memory, so a person or a program did it."
_PROCESS_ENDED = "A process of the run ended, on another machine or without a report."
_HANGS = "A phase of the run hung. The trainer's log has the stacks of its threads."
# The engine started the trainer again. The next attempt has a run folder of its own.
_FOLDER_IN_USE = "An earlier trainer still holds the run folder, as after the loss of its machine."
_LOST = {
    -signal.SIGKILL: _KILLED,
    ProcessLost.exit_status: _PROCESS_ENDED,
    RunFolderInUse.exit_status: _FOLDER_IN_USE,
}
"""Exit statuses after which the job is queued again, and the reason where the launcher's engine has none."""
RESUME_ADVICE = "The job is paused at its last stored checkpoint. Resume it when there is room."
REWARDS_ADVICE = "Mend the reward, then resume the job: the share is counted anew."
_STOPPED = (Stopped.exit_status, -signal.SIGTERM)


def _subclasses(kind: type[TrainerError]) -> Iterator[type[TrainerError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


# Exit status of each kind of error. Status 1 is left out: Python also ends with it after any other exception.
_CODES = {
    kind.exit_status: kind.code
    for kind in _subclasses(TrainerError)
    if not issubclass(kind, Stopped | ProcessLost | RunFolderInUse | RestartAfterHang)
    and kind.exit_status != TrainerError.exit_status
}


@dataclass(frozen=True)
class TrainerEnd:
    """How a trainer ended, and which requests it had received."""

    status: int
    """Exit status. Negative: minus the number of the signal that ended it."""
    finished: RunFinished | None
    failed: RunFailed | None
    stopped: RunStopped | None
    pausing_rule: str | None
    """The health rule that paused the run."""
    log_tail: str
    cancel_requested: bool
    stop_requested: bool
    killed_by_worker: bool
    hours_reached: float | None = None
    """The longest run in hours, if the worker stopped the trainer because the job had run as long."""
    engine_end: EngineEnd | None = None
    """Why the launcher's engine ended the trainer, if it did, such as a lack of memory."""


def settle(session: Session, claim: Claim, end: TrainerEnd) -> JobStatus:
    """Write the end of the attempt into the job. Returns the job's new status. Raises LeaseLost."""
    job = (claim.job_id, claim.attempt)
    if end.status == 0 and end.finished:
        attempts.finish(session, *job, JobStatus.SUCCEEDED, "The run has finished.", summary=end.finished.summary)
        return JobStatus.SUCCEEDED
    if end.cancel_requested:
        attempts.finish(session, *job, JobStatus.CANCELLED, "Cancelled; the trainer has stopped.")
        return JobStatus.CANCELLED
    if for_a_person := _pause_for_a_person(end):
        return attempts.pause(session, *job, *for_a_person)
    if end.status == RestartAfterHang.exit_status or (end.failed and end.failed.code == RestartAfterHang.code):
        return attempts.lose(session, *job, end.failed.message if end.failed else _HANGS, code=Hang.code)
    if end.failed and end.failed.code != ProcessLost.code:  # other processes report only that one was lost
        return _fail(session, claim, end.failed.code, end.failed.message)
    if end.killed_by_worker or end.status in _STOPPED:
        return _stopped(session, claim, end)
    if (otherwise := _LOST.get(end.status)) is not None:
        reason = end.engine_end.reason if end.engine_end else otherwise
        waits = end.status == -signal.SIGKILL and end.engine_end is not None and end.engine_end.waits
        return attempts.lose(session, *job, reason, waits=waits)
    if end.status in _CODES:
        return _fail(session, claim, _CODES[end.status], end.log_tail or _crash(end))
    return _fail(session, claim, "trainer_crashed", _crash(end))


def _stopped(session: Session, claim: Claim, end: TrainerEnd) -> JobStatus:
    """The end of a trainer that was asked to end, by the worker or by the launcher's engine."""
    job = (claim.job_id, claim.attempt)
    if end.hours_reached is not None:
        return _fail(session, claim, TIME_LIMIT, time_limit_message(end.hours_reached))
    if end.engine_end and not end.killed_by_worker and not (end.stopped and end.stopped.step):
        return attempts.lose(session, *job, end.engine_end.reason)  # limited, for it may end there again and again
    row = attempts.held(session, *job)
    why = _why_paused(end, row.preempting) if row.status == JobStatus.PAUSING else _why_released(end)
    return attempts.release(session, *job, why)


def _pause_for_a_person(end: TrainerEnd) -> tuple[str, Actor | None] | None:
    """The reason for a pause, and its actor, if a person must act before the run goes on; the job is not requeued.

    The actor is None for the worker.
    """
    if end.status == DiskFull.exit_status or (end.failed and end.failed.code == DiskFull.code):
        why = end.failed.message if end.failed else "The disk of the trainer is full."
        return f"{why} {RESUME_ADVICE}", None
    if end.engine_end and end.engine_end.by_a_person and not end.killed_by_worker:
        return end.engine_end.reason, None
    if end.status == Paused.exit_status and end.stopped is not None and end.stopped.reason == "rewards":
        return f"The run is saved. {end.stopped.message or ''}".strip() + f" {REWARDS_ADVICE}", None
    if end.status == Paused.exit_status:
        return _why_paused_by_health(end), actors.health_rule(end.pausing_rule)
    return None


def time_limit_message(hours: float) -> str:
    """The message of a job that has run for `hours`."""
    return (
        f"The job has run for {hours:g} hours, the longest time that this platform allows (PROXIMAL_MAX_RUN_HOURS). "
        "Its checkpoints are kept. To continue, submit a job that names the last one as `model.path`."
    )


def _fail(session: Session, claim: Claim, code: str, message: str) -> JobStatus:
    error: dict[str, Any] = {"code": code, "message": message}
    attempts.finish(session, claim.job_id, claim.attempt, JobStatus.FAILED, message, error=error)
    return JobStatus.FAILED


def _why_released(end: TrainerEnd) -> str:
    if end.stop_requested and end.status == Stopped.exit_status:
        return "The worker is shutting down; the run was saved and will be resumed."
    if end.engine_end:
        return f"{end.engine_end.reason} The run was saved and will be resumed."
    cause = "The worker is shutting down" if end.stop_requested else "The trainer was stopped"
    return f"{cause}; the run will be resumed from its last checkpoint."


def _why_paused(end: TrainerEnd, preempted: bool) -> str:
    how = "Preempted" if preempted else "Paused"
    if end.status != Stopped.exit_status:
        return f"{how}. The trainer ended before it had saved, so the run resumes from its last checkpoint."
    where = end.stopped and end.stopped.stage and f" in stage {end.stopped.stage} after step {end.stopped.step}"
    later = " The job continues when a worker is free." if preempted else ""
    return f"{how} and saved{where or ''}.{later}"


def _why_paused_by_health(end: TrainerEnd) -> str:
    rule = (end.stopped and end.stopped.message) or end.log_tail.rpartition("error: ")[2].strip()
    advice = (
        "Resume the job to go on as it is: the rule does not fire again for the same finding. To change the setting, "
        "branch a new job from the last checkpoint."
    )
    return f"A health rule paused the run, and it is saved. {rule}".strip() + f" {advice}"


def _crash(end: TrainerEnd) -> str:
    how = f"by signal {signal.Signals(-end.status).name}" if end.status < 0 else f"with status {end.status}"
    output = f" Its last output:\n{end.log_tail}" if end.log_tail else " It wrote no output."
    return f"The trainer ended unexpectedly, {how}.{output}"
