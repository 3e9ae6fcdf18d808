"""One attempt at a job, from claim to end: prepare the workspace, launch the trainer, follow it, settle the outcome."""

import logging
import math
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from core.access.references import check_paths
from core.blobs import BlobStore
from core.child import Child, MemoryRules
from core.db import session_scope
from core.errors import CheckpointDamaged, DatasetDamaged, DiskFull, InvalidSpec, LeaseLost, NoGoodCheckpoint, NotFound
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.telemetry import Sample, append_samples
from core.models.jobs import TERMINAL, JobStatus
from core.settings import Settings
from data.errors import is_disk_full
from trainer.spec import JobSpec
from worker.capacity import cores
from worker.jobs import workspace as workspaces
from worker.jobs.checkpoints import DamagedCheckpoint
from worker.jobs.commands import CommandDelivery
from worker.jobs.console_log import ConsoleLog
from worker.jobs.damaged import DamagedRows, record
from worker.jobs.follow import Follower, storing_pause
from worker.jobs.launch import Launcher, MachineRank, capacity_refusal, job_resources, log_tail, masker, runs_on_gpu
from worker.jobs.machines import invite_machines
from worker.jobs.settle import RESUME_ADVICE, TIME_LIMIT, TrainerEnd, settle, time_limit_message
from worker.jobs.telemetry import Telemetry
from worker.jobs.workspace import Workspace
from worker.lease import EndRequest, Lease
from worker.memory_limit import MemoryLimit, memory_limit
from worker.process import DATABASE_UNAVAILABLE, StopRequest, with_retries

_POLL_SECONDS = 0.03
_DATABASE_PAUSE = 1.0
# Console output may come later than events, so storing it takes at most half a hundredth of the time.
_LOG_PAUSE_FACTOR, _LOG_PAUSES = 200, (1.0, 5.0)
_MOST_SAMPLES = 100
# A cancelled run need not be saved. A trainer that ignores the signal may be waiting for a model hub.
_CANCEL_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerContext:
    """The parts of a worker that every attempt uses."""

    settings: Settings
    blobs: BlobStore
    launcher: Launcher
    stop: StopRequest


def run_attempt(claim: Claim, worker: WorkerContext) -> bool:
    """Run the attempt to its end. Returns False if this machine failed it.

    Once the lease is lost, the attempt ends without another write.
    """
    try:
        return _run(claim, worker)
    except LeaseLost as error:
        log.warning("%s The attempt ends here.", error)
        return True


def _run(claim: Claim, worker: WorkerContext) -> bool:
    workspace = workspaces.workspace_of(claim, worker.settings.data_dir)
    machine_worked = True
    try:
        workspaces.create(workspace, worker.settings.path_rules)
        with Lease(claim.job_id, lambda session: _renew(session, claim), worker.settings, workspace.lease) as lease:
            status = _Attempt(claim, worker, workspace, lease).run()
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
    reason = f"The worker could not store or fetch files: {error}."
    return with_retries(lambda session: attempts.lose(session, *job, reason), lambda: worker.stop.urgent)


class _StoppedEarly(Exception):
    """A cancel, a pause or a stop was requested before the trainer started."""


class _Attempt:
    def __init__(self, claim: Claim, worker: WorkerContext, workspace: Workspace, lease: Lease) -> None:
        self._claim = claim
        self._job = (claim.job_id, claim.attempt)
        self._worker = worker
        self._workspace = workspace
        self._lease = lease
        self._masker = masker()
        self._follower = Follower(claim, workspace, worker.blobs, self._masker)
        self._console = ConsoleLog(claim, workspace, self._masker, worker.settings.log_bytes)
        self._commands = CommandDelivery(claim, workspace)
        self._next_log_look = 0.0
        self._unstored_samples: list[Sample] = []
        self._next_sample = 0.0
        self._killed = False
        self._limit_reached = False
        self._ends_at = math.inf

    def run(self) -> JobStatus:
        with self._console.collecting():
            return self._run()

    def _run(self) -> JobStatus:
        if refused := capacity_refusal(self._claim.spec, self._worker.settings):
            return self._fail(refused.code, refused.message)
        self._ends_at = time.monotonic() + self._seconds_left()
        if self._time_is_up():
            return self._fail(TIME_LIMIT, time_limit_message(self._worker.settings.max_run_hours))
        try:
            self._check_paths()
            self._prepare()
        except InvalidSpec as error:
            return self._fail("invalid_spec", error.detail)
        except (CheckpointDamaged, DatasetDamaged, NoGoodCheckpoint) as error:
            return self._fail(error.code, error.detail)
        except (NotFound, NoResultFound) as error:
            return self._fail("cannot_prepare", f"The worker could not prepare the run: {error}")
        except _StoppedEarly:
            reason = "The run was stopped before its trainer started."
            self._store_rest_of_log()
            return with_retries(lambda session: attempts.release(session, *self._job, reason), self._give_up)
        memory = self._memory_limit()
        try:
            return self._run_trainer(memory)
        finally:
            memory.close()

    def _memory_limit(self) -> MemoryLimit:
        spec, settings = self._claim.spec, self._worker.settings
        processes, name = job_resources(spec).processes, f"{self._claim.job_id}-{self._claim.attempt}"
        on_gpu = runs_on_gpu(spec, settings)
        return memory_limit(settings.trainer_memory_gib, name, processes=processes, on_gpu=on_gpu)

    def _run_trainer(self, memory: MemoryLimit) -> JobStatus:
        trainer = self._launch(memory.rules)
        log.info("%s attempt %d: trainer is process %d", self._claim.job_id, self._claim.attempt, trainer.pid)
        try:
            return self._follow_to_end(trainer, memory)
        except ValidationError as error:
            trainer.kill()
            return self._fail("invalid_events", f"The trainer wrote an event that is not valid: {error}")
        finally:
            trainer.kill()

    def _seconds_left(self) -> float:
        """Seconds until the job has run as long as the platform allows, all attempts together."""
        used = with_retries(lambda session: attempts.run_seconds(session, self._claim.job_id), self._give_up)
        return self._worker.settings.max_run_hours * 3600 - used

    def _time_is_up(self) -> bool:
        return time.monotonic() > self._ends_at

    def _check_paths(self) -> None:
        """Raises InvalidSpec for a path that is not allowed: a link may have changed since the submission."""
        try:
            spec = JobSpec.model_validate(self._claim.spec)
        except ValidationError:
            return  # a spec of an older release: the trainer refuses it and names the fields
        check_paths(spec, self._worker.settings.path_rules)

    def _prepare(self) -> None:
        log.info("%s attempt %d: fetching the inputs", *self._job)
        while not self._fill():
            pass  # a damaged checkpoint is recorded, so the next one is fetched
        self._commands.write_log(with_retries(self._commands.read_log, self._give_up))
        workspaces.prepare_tracking(self._workspace, self._claim.job_id, self._worker.settings)

    def _fill(self) -> bool:
        """Fetch the inputs. Returns False after a damaged checkpoint that the run can replace.

        Raises CheckpointDamaged, DatasetDamaged and NoGoodCheckpoint.
        """
        inputs = with_retries(lambda session: workspaces.inputs_of(session, self._claim), self._give_up)
        try:
            workspaces.fill(self._workspace, self._claim.spec, inputs, self._worker.blobs, self._check_still_wanted)
        except (DamagedCheckpoint, DamagedRows) as error:
            log.error("%s attempt %d: damaged: %s", *self._job, error)
            found = error
            if ends := with_retries(lambda session: record(session, self._claim, found), self._give_up):
                raise ends from error
            return False
        return True

    def _launch(self, memory: MemoryRules) -> Child:
        resources, rendezvous = job_resources(self._claim.spec), self._worker.settings.rendezvous
        if resources.machines > 1:
            invite_machines(self._workspace, resources, rendezvous)
        return self._worker.launcher.start(self._workspace, resources, MachineRank(0, rendezvous), memory)

    def _check_still_wanted(self) -> None:
        """Called between downloads. Raises LeaseLost or _StoppedEarly."""
        self._lease.check()
        if self._must_end():
            raise _StoppedEarly

    def _follow_to_end(self, trainer: Child, memory: MemoryLimit) -> JobStatus:
        telemetry = Telemetry(trainer.pid, self._workspace.folder)
        try:
            self._follow(trainer, telemetry, memory)
        finally:
            telemetry.close()
        status = trainer.wait()
        log.info("%s attempt %d: the trainer ended with status %d", *self._job, status)
        while with_retries(lambda _: self._follower.advance(), self._give_up):
            self._lease.check()
        self._store_rest_of_log()
        end = TrainerEnd(
            status=status,
            finished=self._follower.finished,
            failed=self._follower.failed,
            stopped=self._follower.stopped,
            log_tail=self._masker.mask(log_tail(self._workspace)),
            pausing_rule=self._follower.pausing_rule,
            cancel_requested=self._cancel_requested,
            stop_requested=self._worker.stop.requested,
            killed_by_worker=self._killed,
            hours_reached=self._worker.settings.max_run_hours if self._limit_reached else None,
            why_out_of_memory=memory.why_killed(),
        )
        return with_retries(lambda session: settle(session, self._claim, end), self._give_up)

    def _follow(self, trainer: Child, telemetry: Telemetry, memory: MemoryLimit) -> None:
        """Store events until the trainer has ended. It is asked to end when it must, and killed after a grace time."""
        asked_at: float | None = None
        next_look = 0.0
        while trainer.poll() is None:
            self._lease.check()
            now = time.monotonic()
            if now >= next_look:
                next_look = now + self._store_events()
            self._store_log(now)
            self._measure(telemetry, memory, now)
            if asked_at is None and (self._must_end() or self._time_is_up()):
                self._limit_reached = not self._must_end()
                log.info("%s: asking the trainer to save and end", self._claim.job_id)
                trainer.send(signal.SIGTERM)
                asked_at = now
            if self._worker.stop.urgent or (asked_at is not None and now > asked_at + self._grace()):
                self._killed = True
                trainer.kill()
            if next_look > now:
                time.sleep(_POLL_SECONDS)

    def _store_events(self) -> float:
        """Store a batch of events. Returns the seconds until the next call: 0 if more events wait.

        The trainer goes on while the database does not answer.
        """
        before = time.thread_time()
        try:
            more = self._follower.advance()
            self._commands.deliver()
        except DATABASE_UNAVAILABLE as error:
            log.warning("%s: the database does not answer; the trainer goes on: %s", self._claim.job_id, error)
            return _DATABASE_PAUSE
        return 0.0 if more else storing_pause(time.thread_time() - before, cores(), self._follower.on_cpu)

    def _store_log(self, now: float) -> None:
        """Store new console output if it is time. Without the database, the lines wait in their files."""
        if now < self._next_log_look:
            return
        began = time.monotonic()
        with suppress(*DATABASE_UNAVAILABLE):  # storing events has logged it
            self._console.store()
        took = time.monotonic() - began
        self._next_log_look = now + min(max(_LOG_PAUSE_FACTOR * took, _LOG_PAUSES[0]), _LOG_PAUSES[1])

    def _measure(self, telemetry: Telemetry, memory: MemoryLimit, now: float) -> None:
        """Measure the machine if it is time, and store the samples. Without the database, the newest ones wait."""
        if now < self._next_sample:
            return
        self._next_sample = now + self._worker.settings.telemetry_seconds
        memory.observe()
        self._unstored_samples = [*self._unstored_samples, telemetry.sample()][-_MOST_SAMPLES:]
        with suppress(*DATABASE_UNAVAILABLE):
            with session_scope() as session:
                append_samples(session, *self._job, self._unstored_samples)
            self._unstored_samples = []

    def _store_rest_of_log(self) -> None:
        """Store the output that is left before the attempt ends. Afterwards another write would be refused."""
        while with_retries(lambda _: self._console.store(final=True), self._give_up):
            self._lease.check()

    def _must_end(self) -> bool:
        return self._worker.stop.requested or self._lease.end_requested is not None or self._lease.expired

    @property
    def _cancel_requested(self) -> bool:
        return self._lease.end_requested is EndRequest.CANCEL

    def _grace(self) -> float:
        seconds = self._worker.settings.stop_seconds
        return min(_CANCEL_SECONDS, seconds) if self._cancel_requested else seconds

    def _give_up(self) -> bool:
        """Whether retries must end. Raises LeaseLost if another attempt may have begun."""
        self._lease.check()
        return self._worker.stop.urgent

    def _fail(self, code: str, message: str) -> JobStatus:
        message = self._masker.mask(message)
        log.error("%s attempt %d: %s", *self._job, message)
        self._store_rest_of_log()
        error = {"code": code, "message": message}
        with_retries(
            lambda session: attempts.finish(session, *self._job, JobStatus.FAILED, message, error=error), self._give_up
        )
        return JobStatus.FAILED
