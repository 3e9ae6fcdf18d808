"""One attempt at a job, from claim to end: prepare the workspace, launch the trainer, follow it, settle the outcome."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from pydantic import ValidationError
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from core.db import session_scope
from core.errors import CheckpointDamaged, DatasetDamaged, DiskFull, InvalidSpec, LeaseLost, NoGoodCheckpoint, NotFound
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.events import note_waiting
from core.models.jobs import TERMINAL, JobStatus
from data.errors import is_disk_full
from worker.capacity import cores
from worker.jobs import workspace as workspaces
from worker.jobs.commands import CommandDelivery
from worker.jobs.console_lines import log_tail
from worker.jobs.console_log import ConsoleLog
from worker.jobs.context import AttemptContext, LeftRunning, WorkerContext
from worker.jobs.follow import Follower, storing_pause
from worker.jobs.launch.interface import RunToStart, Trainer
from worker.jobs.launch.trainer_command import masker
from worker.jobs.prepare import StoppedEarly, prepare
from worker.jobs.settle import RESUME_ADVICE, TIME_LIMIT, TrainerEnd, settle, time_limit_message
from worker.jobs.stopping import TrainerStop
from worker.jobs.telemetry import TelemetryLog, measuring
from worker.lease import EndRequest, Lease
from worker.process import DATABASE_UNAVAILABLE, with_retries

_POLL_SECONDS = 0.03
_DATABASE_PAUSE = 1.0
# Console output may come later than events, so storing it takes at most half a hundredth of the time.
_LOG_PAUSE_FACTOR, _LOG_PAUSES = 200, (1.0, 5.0)
log = logging.getLogger(__name__)


def run_attempt(claim: Claim, worker: WorkerContext) -> bool:
    """Run the attempt to its end. Returns False if this machine failed it.

    Once the lease is lost, the attempt ends without another write. A trainer that outlives the worker is left running when the
    worker ends. The next process of this worker calls this function for the same claim.
    """
    try:
        return _run(claim, worker)
    except LeaseLost as error:
        log.warning("%s The attempt ends here.", error)
        return True
    except LeftRunning:
        log.info("%s attempt %d goes on without this worker.", claim.job_id, claim.attempt)
        return True


def _run(claim: Claim, worker: WorkerContext) -> bool:
    workspace = workspaces.workspace_of(claim, worker.settings.data_dir)
    machine_worked, settings = True, worker.settings
    has_started = worker.launcher.has_started(workspace)
    try:
        if not has_started:
            workspaces.create(workspace, settings.path_rules)
        seconds = settings.job_lease_seconds
        with Lease(claim.job_id, lambda session: _renew(session, claim), settings, workspace.lease, seconds) as lease:
            status = _Attempt(AttemptContext(claim, worker, workspace, lease), has_started).run()
    except (OSError, DiskFull) as error:
        machine_worked = False
        status = _lose(claim, worker, error)
    log.info("%s is %s", claim.job_id, status)
    if status in TERMINAL or status is JobStatus.PAUSED:
        workspaces.remove(workspace, keep_log=status in (JobStatus.FAILED, JobStatus.PAUSED))
    return machine_worked


def _renew(session: Session, claim: Claim) -> EndRequest | None:
    lease = attempts.renew(session, claim.job_id, claim.attempt)
    if lease.cancel_requested:
        return EndRequest.CANCEL
    if lease.pause_requested:
        return EndRequest.PAUSE
    return EndRequest.DRAIN if lease.drain_requested else None


def _lose(claim: Claim, worker: WorkerContext, error: OSError | DiskFull) -> JobStatus:
    """Pause the job if a disk is full, since a person must make room. For a missing share, another attempt may succeed, here
    or elsewhere. The number of attempts is limited."""
    log.error("%s attempt %d: %s", claim.job_id, claim.attempt, error)
    job = (claim.job_id, claim.attempt)
    if isinstance(error, DiskFull) or is_disk_full(error):
        folders = f"{worker.settings.data_dir} or {worker.settings.blob_dir}"
        reason = f"The disk that holds {folders} is full ({error}). Free some space there. {RESUME_ADVICE}"
        return with_retries(lambda session: attempts.pause(session, *job, reason), lambda: worker.stop.urgent)
    reason = f"The worker could not store or fetch files: {str(error).rstrip('.')}."
    return with_retries(lambda session: attempts.lose(session, *job, reason), lambda: worker.stop.urgent)


class _LaunchRefused(Exception):
    """The launcher's engine will never run the job."""


class Paced:
    """Repeats an action. It returns the seconds until its next call."""

    def __init__(self, action: Callable[[], float]) -> None:
        self._action = action
        self.due_at = 0.0

    def run_if_due(self, now: float) -> None:
        if now >= self.due_at:
            self.due_at = now + self._action()


class _Attempt:
    """Runs one attempt, and stores the events and the console output of its trainer."""

    def __init__(self, context: AttemptContext, has_started: bool) -> None:
        """`has_started`: an earlier process of this worker has started the trainer."""
        claim, workspace, worker = context.claim, context.workspace, context.worker
        self._context = context
        self._masker = masker()
        self._follower = Follower(claim, workspace, worker.blobs, self._masker)
        resumable = worker.launcher.outlives_worker
        self._console = ConsoleLog(claim, workspace, self._masker, worker.settings.log_bytes, resumable=resumable)
        self._has_started, self._noted_waiting = has_started, "" if has_started else None
        self._commands = CommandDelivery(claim, workspace)

    def run(self) -> JobStatus:
        with self._console.collecting():
            return self._run()

    def _run(self) -> JobStatus:
        context, settings = self._context, self._context.worker.settings
        if self._has_started:
            context.retried(lambda _: self._follower.catch_up())
            ends_at = time.monotonic() + self._seconds_left()
            return self._run_trainer(context.worker.launcher.attach(_run_to_start(context)), ends_at)
        if refused := context.worker.launcher.refusal(context.claim.spec, settings):
            return self._fail(refused.code, refused.message)
        ends_at = time.monotonic() + self._seconds_left()
        if time.monotonic() > ends_at:
            return self._fail(TIME_LIMIT, time_limit_message(settings.max_run_hours))
        try:
            prepare(context, self._commands)
        except InvalidSpec as error:
            return self._fail("invalid_spec", error.detail)
        except (CheckpointDamaged, DatasetDamaged, NoGoodCheckpoint) as error:
            return self._fail(error.code, error.detail)
        except (NotFound, NoResultFound) as error:
            return self._fail("cannot_prepare", f"The worker could not prepare the run: {error}")
        except StoppedEarly:
            reason = "The run was stopped before its trainer started."
            self._store_rest_of_log()
            return context.retried(lambda session: attempts.release(session, *context.key, reason))
        return self._run_trainer(context.worker.launcher.start(_run_to_start(context)), ends_at)

    def _seconds_left(self) -> float:
        """Seconds until the job has run as long as the platform allows, all attempts together."""
        used = self._context.retried(lambda session: attempts.run_seconds(session, self._context.claim.job_id))
        return self._context.worker.settings.max_run_hours * 3600 - used

    def _run_trainer(self, trainer: Trainer, ends_at: float) -> JobStatus:
        log.info("%s attempt %d: trainer is %s", *self._context.key, trainer.label)
        try:
            return self._follow_to_end(trainer, TrainerStop(self._context, trainer, ends_at))
        except LeftRunning:
            trainer.leave()
            raise
        except _LaunchRefused as error:
            return self._fail("launch_refused", str(error))
        except ValidationError as error:
            trainer.kill()
            return self._fail("invalid_events", f"The trainer wrote an event that is not valid: {error}")
        finally:
            trainer.close()

    def _follow_to_end(self, trainer: Trainer, stop: TrainerStop) -> JobStatus:
        context = self._context
        with measuring(context.key, trainer, context.workspace.folder) as telemetry:
            status = self._follow(trainer, telemetry, stop)
        log.info("%s attempt %d: the trainer ended with status %d", *context.key, status)
        while context.retried(lambda _: self._follower.advance()):
            context.lease.check()
        self._store_rest_of_log()
        end = TrainerEnd(
            status=status,
            finished=self._follower.finished,
            failed=self._follower.failed,
            stopped=self._follower.stopped,
            log_tail=self._masker.mask(log_tail(context.workspace)),
            pausing_rule=self._follower.pausing_rule,
            cancel_requested=context.cancel_requested,
            stop_requested=context.worker.stop.requested,
            killed_by_worker=stop.killed,
            hours_reached=context.worker.settings.max_run_hours if stop.limit_reached else None,
            engine_end=trainer.engine_end(),
        )
        return context.retried(lambda session: settle(session, context.claim, end))

    def _follow(self, trainer: Trainer, telemetry: TelemetryLog, stop: TrainerStop) -> int:
        """Store events, output and measurements until the trainer has ended. Returns its exit status."""

        def measure() -> float:
            telemetry.measure()
            return self._context.worker.settings.telemetry_seconds

        events, console, measuring = Paced(self._store_events), Paced(self._store_log), Paced(measure)
        while (status := trainer.poll()) is None:
            self._context.lease.check()
            self._check_launch(trainer)
            now = time.monotonic()
            for paced in (events, console, measuring):
                paced.run_if_due(now)
            stop.check(now)
            if events.due_at > now:
                time.sleep(_POLL_SECONDS)
        return status

    def _check_launch(self, trainer: Trainer) -> None:
        """Store why the trainer waits, if that has changed. Raises LeftRunning and _LaunchRefused."""
        worker = self._context.worker
        if worker.launcher.outlives_worker and worker.stop.requested:
            raise LeftRunning
        if trainer.refused is not None:
            raise _LaunchRefused(trainer.refused)
        if (waiting := trainer.waiting) == self._noted_waiting:
            return
        with suppress(*DATABASE_UNAVAILABLE):  # it is stored later
            with session_scope() as session:
                note_waiting(session, *self._context.key, waiting)
            self._noted_waiting = waiting

    def _store_events(self) -> float:
        """Store a batch of events. Returns the seconds until the next call: 0 if more events wait.

        The trainer goes on while the database does not answer.
        """
        before = time.thread_time()
        try:
            more = self._follower.advance()
            self._commands.deliver()
        except DATABASE_UNAVAILABLE as error:
            job_id = self._context.claim.job_id
            log.warning("%s: the database does not answer; the trainer goes on: %s", job_id, error)
            return _DATABASE_PAUSE
        return 0.0 if more else storing_pause(time.thread_time() - before, cores(), self._follower.on_cpu)

    def _store_log(self) -> float:
        """Store new console output. Returns the seconds until the next call. Without the database, the lines wait in their files."""
        began = time.monotonic()
        with suppress(*DATABASE_UNAVAILABLE):  # storing events has logged it
            self._console.store()
        took = time.monotonic() - began
        return min(max(_LOG_PAUSE_FACTOR * took, _LOG_PAUSES[0]), _LOG_PAUSES[1])

    def _store_rest_of_log(self) -> None:
        """Store the output that is left before the attempt ends. Afterwards another write would be refused."""
        while self._context.retried(lambda _: self._console.store(final=True)):
            self._context.lease.check()

    def _fail(self, code: str, message: str) -> JobStatus:
        context, message = self._context, self._masker.mask(message)
        log.error("%s attempt %d: %s", *context.key, message)
        self._store_rest_of_log()
        error = {"code": code, "message": message}
        context.retried(lambda session: attempts.finish(session, *context.key, JobStatus.FAILED, message, error=error))
        return JobStatus.FAILED


def _run_to_start(context: AttemptContext) -> RunToStart:
    return RunToStart(*context.key, context.claim.spec, context.workspace, context.worker.settings)
