"""Several machines at one job: the worker on the first says where they meet, in a file beside the run.

The others need no database and no queue: they see the run folder, and its lease says whether the run is still on.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer.spec import ResourcesSpec
from worker.jobs.workspace import Workspace

_FILE = "machines.json"


@dataclass(frozen=True)
class Place:
    """Which of a group's machines this is (the worker's is 0), and where they meet, as `host:port`."""

    rank: int = 0
    rendezvous: str = ""


@dataclass(frozen=True)
class Call:
    """To the other machines: start your processes of this run."""

    processes: int
    machines: int
    rendezvous: str

    @property
    def resources(self) -> ResourcesSpec:
        return ResourcesSpec(processes=self.processes, machines=self.machines)


def call_for(workspace: Workspace, resources: ResourcesSpec, rendezvous: str) -> None:
    """Whoever waits for a run may begin: everything else is in its folder already."""
    draft = workspace.folder / f".{_FILE}"
    draft.write_text(json.dumps(asdict(Call(resources.processes, resources.machines, rendezvous))))
    draft.rename(workspace.folder / _FILE)


def calls(data_dir: Path) -> Iterator[tuple[Workspace, Call]]:
    """The runs that are on, by their leases, and want several machines."""
    for file in (data_dir / "runs").glob(f"*/*/{_FILE}"):
        workspace = Workspace(file.parent)
        if is_on(workspace):
            yield workspace, Call(**json.loads(file.read_text()))


def is_on(workspace: Workspace) -> bool:
    """Whether a worker still holds the run. The machines' clocks must agree, to a second or so."""
    try:
        return time.time() < float(workspace.lease.read_text())
    except FileNotFoundError:
        return False
