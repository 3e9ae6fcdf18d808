"""The command that starts a trainer, which a user could type as well, and its environment.

Nothing here imports torch: CUDA is never initialised in the worker's process.
"""

import os
import sys
from dataclasses import dataclass

from core.masking import Masker
from trainer.spec import ResourcesSpec
from worker.jobs.workspace import Workspace

TRAINER = (sys.executable, "-m", "trainer")
# Variables with secrets of the platform. The trainer reads files and needs neither database nor bucket.
_WITHHELD = ("DATABASE_URL", "REDIS_URL", "PROXIMAL_", "AWS_")


@dataclass(frozen=True)
class MachineRank:
    """The number of this machine among those of a run (0: the worker's), and the rendezvous as `host:port`."""

    rank: int = 0
    rendezvous: str = ""


def environment() -> dict[str, str]:
    """The environment of a trainer: that of this process without the platform's settings.

    Python then writes each line of output at once, because users follow it.
    """
    passed = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
    return {"PYTHONUNBUFFERED": "1"} | passed


def masker() -> Masker:
    """Masks the secrets in the environment of this process, which are those of the platform and of its trainers."""
    return Masker(os.environ)


def trainer_arguments(workspace: Workspace, resources: ResourcesSpec, machine: MachineRank) -> list[str]:
    """The arguments that follow `python -m trainer`, on one machine of the run."""
    group = ["--machine-rank", str(machine.rank), "--rendezvous", machine.rendezvous] if resources.machines > 1 else []
    return [*_command_and_files(workspace, resources), *group]


def batch_arguments(workspace: Workspace, resources: ResourcesSpec) -> list[str]:
    """The same in a batch job of Slurm, which has all machines of the run."""
    return [*_command_and_files(workspace, resources), *(["--slurm"] if resources.machines > 1 else [])]


def pod_arguments(workspace: Workspace, resources: ResourcesSpec) -> list[str]:
    """The same in a pod of Kubernetes, one for each machine. The worker reads the output in the run folder."""
    node = ["--kubeflow"] if resources.machines > 1 else []
    return [*_command_and_files(workspace, resources), "--log", str(workspace.log), *node]


def _command_and_files(workspace: Workspace, resources: ResourcesSpec) -> list[str]:
    command = "run" if resources.total == 1 else "launch"
    files = [str(workspace.spec), "--run-dir", str(workspace.folder), "--lease", str(workspace.lease)]
    files += ["--local-paths", str(workspace.local_paths)]
    return [command, *files, *(["--rank-logs", str(workspace.folder)] if command == "launch" else [])]
