"""The story of one attempt: take hold, prepare, launch, follow, settle."""

import logging
import signal
import time
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy.exc import NoResultFound

from core import jobs
from core.blobs import BlobStore
from core.child import Child
from core.errors import InvalidSpec, LeaseLost, NotFound
from core.jobs import Claim
from core.jobs.references import check_paths
from core.models.jobs import TERMINAL, JobStatus
from core.settings import Settings
from trainer.spec import JobSpec
from worker.jobs import workspace as workspaces
from worker.jobs.capacity import refusal, resources_of
from worker.jobs.follow import Follower
from worker.jobs.launch import Launcher, last_words
from worker.jobs.machines import Place, call_for
from worker.jobs.settle import End, settle
from worker.jobs.workspace import Workspace
from worker.lease import Lease
from worker.process import AWAY, StopRequest, patiently

_POLL_SECONDS = 0.1
_DATABASE_PAUSE = 1.0
# Storing a step's events costs some 10 ms of CPU, which a trainer on every core misses: of quick steps several are stored at
# once, so that it takes about a hundredth of the time.
_SPARED, _LONGEST_SPARED = 100, 1.0
# What a cancelled run has not saved nobody waits for; a trainer that does not listen is, say, waiting for a model hub.
_CANCEL_SECONDS = 5.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Station:
    """What a worker has at hand for every job."""

    settings: Settings
    blobs: BlobStore
    launcher: Launcher
    stop: StopRequest


def run(claim: Claim, station: Station) -> bool:
    """One attempt, from claim to end; answer whether this machine did its part.

    Once the job is no longer ours we drop everything and say nothing more about it.
    """
    try:
        return _run(claim, station)
    except LeaseLost as lost:
        log.warning("%s walking away", lost)
        return True


def _run(claim: Claim, station: Station) -> bool:
    workspace = workspaces.of(claim, station.settings.data_dir)
    trouble: OSError | None = None
    try:
        workspaces.make(workspace, station.settings.path_rules)
        with Lease(claim, workspace.lease, station.settings) as lease:
            status = _Attempt(claim, station, workspace, lease).go()
    except OSError as error:
        trouble = error
        status = _lose(claim, station, error)
    log.info("%s is %s", claim.job_id, status)
    if status in TERMINAL:
        workspaces.close(workspace, keep_log=status is JobStatus.FAILED)
    return trouble is None


def _lose(claim: Claim, station: Station, error: OSError) -> JobStatus:
    """A full disk, a share that is gone: another try, here or elsewhere, may go better. There are not endlessly many."""
    log.error("%s attempt %d: %s", claim.job_id, claim.attempt, error)
    reason = f"The worker could not store or fetch files: {error}."
    job = (claim.job_id, claim.attempt)
    return patiently(lambda session: jobs.lose(session, *job, reason), lambda: station.stop.urgent)


class _NoLongerWanted(Exception):
    """The job was cancelled, or this worker is to end, before there was a trainer."""


class _Attempt:
    def __init__(self, claim: Claim, station: Station, workspace: Workspace, lease: Lease) -> None:
        self._claim = claim
        self._job = (claim.job_id, claim.attempt)
        self._station = station
        self._workspace = workspace
        self._lease = lease
        self._follower = Follower(claim, workspace, station.blobs)
        self._killed = False

    def go(self) -> JobStatus:
        if refused := refusal(self._claim.spec, self._station.settings):
            return self._fail(refused.code, refused.message)
        try:
            self._check_paths()
            self._prepare()
        except InvalidSpec as error:
            return self._fail("invalid_spec", error.detail)
        except (NotFound, NoResultFound) as error:
            return self._fail("cannot_prepare", f"The worker could not prepare the run: {error}")
        except _NoLongerWanted:
            reason = "The run was stopped before its trainer started."
            return patiently(lambda session: jobs.release(session, *self._job, reason), self._give_up)
        trainer = self._launch()
        log.info("%s attempt %d: trainer is process %d", self._claim.job_id, self._claim.attempt, trainer.pid)
        try:
            return self._see_through(trainer)
        except ValidationError as error:
            return self._fail("invalid_events", f"The trainer wrote an event that is not valid: {error}")
        finally:
            trainer.kill()

    def _check_paths(self) -> None:
        """Raise InvalidSpec for a path that is not allowed (any more): a link may have changed since the submission."""
        try:
            spec = JobSpec.model_validate(self._claim.spec)
        except ValidationError:
            return  # a spec of an older release: the trainer refuses it and names the fields
        check_paths(spec, self._station.settings)

    def _prepare(self) -> None:
        inputs = patiently(lambda session: workspaces.inputs_of(session, self._claim), self._give_up)
        workspaces.fill(self._workspace, self._claim, inputs, self._station.blobs, self._go_on)

    def _launch(self) -> Child:
        resources, rendezvous = resources_of(self._claim.spec), self._station.settings.rendezvous
        if resources.machines > 1:
            call_for(self._workspace, resources, rendezvous)
        return self._station.launcher.start(self._workspace, resources, Place(0, rendezvous))

    def _go_on(self) -> None:
        """Asked between two downloads, which may be long."""
        self._lease.check()
        if self._wanted_to_end():
            raise _NoLongerWanted

    def _see_through(self, trainer: Child) -> JobStatus:
        self._follow(trainer)
        status = trainer.wait()
        while patiently(lambda _: self._follower.advance(), self._give_up):
            self._lease.check()
        end = End(
            status=status,
            finished=self._follower.finished,
            failed=self._follower.failed,
            stopped=self._follower.stopped,
            last_words=last_words(self._workspace.log),
            cancel_requested=self._lease.cancel_requested,
            stop_requested=self._station.stop.requested,
            killed_by_us=self._killed,
        )
        return patiently(lambda session: settle(session, self._claim, end), self._give_up)

    def _follow(self, trainer: Child) -> None:
        """Until the trainer has ended: by itself, or because it was asked to, or because it did not listen."""
        asked_at: float | None = None
        next_look = 0.0
        while trainer.poll() is None:
            self._lease.check()
            now = time.monotonic()
            if now >= next_look:
                reached = self._look()
                took = time.monotonic() - now
                next_look = now + (min(_SPARED * took, _LONGEST_SPARED) if reached else _DATABASE_PAUSE)
            if asked_at is None and self._wanted_to_end():
                log.info("%s: asking the trainer to save and end", self._claim.job_id)
                trainer.send(signal.SIGTERM)
                asked_at = now
            if self._station.stop.urgent or (asked_at is not None and now > asked_at + self._grace()):
                self._killed = True
                trainer.kill()
            time.sleep(_POLL_SECONDS)

    def _look(self) -> bool:
        """Whether the database could be told what is new."""
        try:
            self._follower.advance()
        except AWAY as error:
            log.warning("%s: the database does not answer; the trainer goes on: %s", self._claim.job_id, error)
            return False
        return True

    def _wanted_to_end(self) -> bool:
        return self._station.stop.requested or self._lease.cancel_requested or self._lease.expired

    def _grace(self) -> float:
        seconds = self._station.settings.stop_seconds
        return min(_CANCEL_SECONDS, seconds) if self._lease.cancel_requested else seconds

    def _give_up(self) -> bool:
        """Nobody waits for us any more: another attempt has begun, or we are to be gone."""
        self._lease.check()
        return self._station.stop.urgent

    def _fail(self, code: str, message: str) -> JobStatus:
        error = {"code": code, "message": message}
        patiently(
            lambda session: jobs.finish(session, *self._job, JobStatus.FAILED, message, error=error), self._give_up
        )
        return JobStatus.FAILED
