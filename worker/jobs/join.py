"""`python -m worker join`: one of the further machines that a worker's jobs may have.

It looks for runs in the worker's data folder, starts its processes of one, and ends them with the run or its lease.
"""

import logging
import signal
import time

from core.child import Child
from core.settings import MachineSettings
from worker.jobs.launch import Launcher
from worker.jobs.machines import Call, Place, calls, is_on
from worker.jobs.workspace import Workspace
from worker.process import StopRequest

_POLL_SECONDS = 0.25
log = logging.getLogger(__name__)


def join_for_ever(settings: MachineSettings, launcher: Launcher) -> int:
    """Work on one run after the other until asked to stop."""
    stop = StopRequest()
    stop.on_signals()
    log.info("machine %d waits for runs in %s", settings.machine_rank, settings.data_dir)
    done: set[Workspace] = set()
    while not stop.requested:
        for workspace, call in calls(settings.data_dir):
            if workspace not in done and settings.machine_rank < call.machines and not stop.requested:
                done.add(workspace)
                _take_part(workspace, call, settings, launcher, stop)
        time.sleep(_POLL_SECONDS)
    return 0


def _take_part(
    workspace: Workspace, call: Call, settings: MachineSettings, launcher: Launcher, stop: StopRequest
) -> None:
    trainer = launcher.start(workspace, call.resources, Place(settings.machine_rank, call.rendezvous))
    log.info("%s: machine %d starts %d processes", workspace.folder, settings.machine_rank, call.processes)
    try:
        status = _see_through(trainer, workspace, settings.stop_seconds, stop)
        log.info("%s: ended with status %d", workspace.folder, status)
    finally:
        trainer.kill()


def _see_through(trainer: Child, workspace: Workspace, stop_seconds: float, stop: StopRequest) -> int:
    """Until it has ended: with the others, or because this machine is to, or because nobody holds the run any more."""
    asked_at: float | None = None
    while (status := trainer.poll()) is None:
        now = time.monotonic()
        if asked_at is None and (stop.requested or not is_on(workspace)):
            trainer.send(signal.SIGTERM)
            asked_at = now
        if stop.urgent or (asked_at is not None and now > asked_at + stop_seconds):
            return trainer.kill()
        time.sleep(_POLL_SECONDS)
    return status
