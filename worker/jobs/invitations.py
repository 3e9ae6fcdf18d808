"""Invitations: the file in a run folder by which a worker asks other machines to start their processes of a run."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer.spec import ResourcesSpec
from worker.jobs.workspace import Workspace

_FILE = "machines.json"


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
