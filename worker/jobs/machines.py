"""Runs on several machines: the worker publishes an invitation in the run folder, and `python -m worker join` follows it.

The other machines need no database and no queue. They see the run folder, and the lease file in it is valid while the
worker holds the job.
"""

import json
import logging
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from core.child import Child
from core.settings import MachineSettings
from trainer.spec import ResourcesSpec
from worker.capacity import list_gpus
from worker.jobs.launch import Launcher, MachineRank
from worker.jobs.workspace import Workspace
from worker.memory_limit import memory_limit
from worker.process import StopRequest

_FILE = "machines.json"
_POLL_SECONDS = 0.25
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunInvitation:
    """The content of the file by which a worker asks other machines to start their processes of a run."""

    processes: int
    machines: int
    rendezvous: str

    @property
    def resources(self) -> ResourcesSpec:
        return ResourcesSpec(processes=self.processes, machines=self.machines)


def invite_machines(workspace: Workspace, resources: ResourcesSpec, rendezvous: str) -> None:
    """Publish the invitation. Everything else must be in the run folder already."""
    draft = workspace.folder / f".{_FILE}"
    draft.write_text(json.dumps(asdict(RunInvitation(resources.processes, resources.machines, rendezvous))))
    draft.rename(workspace.folder / _FILE)


def open_invitations(data_dir: Path) -> Iterator[tuple[Workspace, RunInvitation]]:
    """The invitations of runs whose lease is valid."""
    for file in (data_dir / "runs").glob(f"*/*/{_FILE}"):
        workspace = Workspace(file.parent)
        if lease_is_valid(workspace):
            yield workspace, RunInvitation(**json.loads(file.read_text()))


def lease_is_valid(workspace: Workspace) -> bool:
    """Whether a worker still holds the run. The clocks of the machines must agree within about a second."""
    try:
        return time.time() < float(workspace.lease.read_text())
    except FileNotFoundError:
        return False


def join_runs(settings: MachineSettings, launcher: Launcher) -> int:
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
    workspace: Workspace, invitation: RunInvitation, settings: MachineSettings, launcher: Launcher, stop: StopRequest
) -> None:
    machine = MachineRank(settings.machine_rank, invitation.rendezvous)
    name = f"{workspace.folder.name}-{settings.machine_rank}"
    gib, on_gpu = settings.trainer_memory_gib, bool(list_gpus(None))
    memory = memory_limit(gib, name, processes=invitation.processes, on_gpu=on_gpu)
    trainer = launcher.start(workspace, invitation.resources, machine, memory.rules)
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
