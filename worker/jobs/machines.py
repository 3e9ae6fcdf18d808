"""Runs on several machines: the worker publishes an invitation in the run folder, and `python -m worker join` follows it.

The other machines need no database and no queue. They see the run folder, and the lease file in it is valid while the
worker holds the job.
"""

import logging
import signal
import time

from core.child import Child
from core.settings import MachineSettings
from worker.capacity import list_gpus
from worker.jobs.invitations import RunInvitation, lease_is_valid, open_invitations
from worker.jobs.launch.local import LocalLauncher
from worker.jobs.launch.trainer_command import MachineRank
from worker.jobs.workspace import Workspace
from worker.memory_limit import memory_limit
from worker.process import StopRequest

_POLL_SECONDS = 0.25
log = logging.getLogger(__name__)


def join_runs(settings: MachineSettings, launcher: LocalLauncher) -> int:
    """Take part in one run after the other until SIGTERM or SIGINT. Returns the exit status."""
    stop = StopRequest()
    stop.on_signals()
    log.info("machine %d waits for runs in %s", settings.machine_rank, settings.data_dir)
    joined: set[Workspace] = set()
    while not stop.requested:
        for workspace, invitation in open_invitations(settings.data_dir):
            if workspace not in joined and settings.machine_rank < invitation.machines and not stop.requested:
                joined.add(workspace)
                _take_part(workspace, invitation, settings, launcher, stop)
        time.sleep(_POLL_SECONDS)
    return 0


def _take_part(
    workspace: Workspace,
    invitation: RunInvitation,
    settings: MachineSettings,
    launcher: LocalLauncher,
    stop: StopRequest,
) -> None:
    machine = MachineRank(settings.machine_rank, invitation.rendezvous)
    name = f"{workspace.folder.name}-{settings.machine_rank}"
    gib, on_gpu = settings.trainer_memory_gib, bool(list_gpus(None))
    memory = memory_limit(gib, name, processes=invitation.processes, on_gpu=on_gpu)
    trainer = launcher.start_processes(workspace, invitation.resources, machine, memory.rules)
    log.info("%s: machine %d starts %d processes", workspace.folder, settings.machine_rank, invitation.processes)
    try:
        status = _wait_for_end(trainer, workspace, settings.stop_seconds, stop)
        log.info("%s: ended with status %d. %s", workspace.folder, status, memory.why_killed() or "")
    finally:
        trainer.kill()
        memory.close()


def _wait_for_end(trainer: Child, workspace: Workspace, stop_seconds: float, stop: StopRequest) -> int:
    """The exit status. The trainer is asked to stop when this machine stops or when the lease is no longer valid."""
    asked_at: float | None = None
    while (status := trainer.poll()) is None:
        now = time.monotonic()
        if asked_at is None and (stop.requested or not lease_is_valid(workspace)):
            trainer.send(signal.SIGTERM)
            asked_at = now
        if stop.urgent or (asked_at is not None and now > asked_at + stop_seconds):
            return trainer.kill()
        time.sleep(_POLL_SECONDS)
    return status
