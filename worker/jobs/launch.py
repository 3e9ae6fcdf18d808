"""Starts the trainer as a process, by the same command that a user would type, within the capacity of this machine.

Nothing here imports torch: CUDA is never initialised in the worker's process.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import child
from core.masking import Masker
from core.settings import Settings
from trainer.spec import ResourcesSpec
from worker.capacity import cores, list_gpus
from worker.jobs.workspace import Workspace

TRAINER = (sys.executable, "-m", "trainer")
# Variables with secrets of the platform. The trainer reads files and needs neither database nor bucket.
_WITHHELD = ("DATABASE_URL", "REDIS_URL", "PROXIMAL_", "AWS_")
_MOST_TAILS, _FEWEST_LINES = 5, 4


@dataclass(frozen=True)
class MachineRank:
    """The number of this machine among those of a run (0: the worker's), and the rendezvous as `host:port`."""

    rank: int = 0
    rendezvous: str = ""


@dataclass(frozen=True)
class CapacityRefusal:
    """The reason why a machine like this one cannot run a job."""

    code: str
    message: str


class Launcher:
    """Starts `command run spec.json …` in a workspace. The trainer leads a process group and dies with this process.

    A run in several processes is started by `command launch spec.json …`, which passes on how its processes end. To the
    worker it looks like a trainer in one process.
    """

    def __init__(self, command: Sequence[str] = TRAINER) -> None:
        self._command = command

    def start(
        self,
        workspace: Workspace,
        resources: ResourcesSpec,
        machine: MachineRank,
        memory: child.MemoryRules = child.NO_MEMORY_RULES,
    ) -> child.Child:
        arguments = trainer_arguments(workspace, resources, machine)
        log_file = workspace.log if machine.rank == 0 else workspace.log.with_stem(f"trainer-{machine.rank}")
        with log_file.open("ab") as log:
            command = [*self._command, *arguments]
            return child.start(command, cwd=workspace.folder, env=environment(), stdout=log, memory=memory)


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
    """The arguments that follow `python -m trainer`."""
    command = "run" if resources.total == 1 else "launch"
    files = [str(workspace.spec), "--run-dir", str(workspace.folder), "--lease", str(workspace.lease)]
    files += ["--local-paths", str(workspace.local_paths)]
    group = ["--machine-rank", str(machine.rank), "--rendezvous", machine.rendezvous] if resources.machines > 1 else []
    rank_logs = ["--rank-logs", str(workspace.folder)] if command == "launch" else []
    return [command, *files, *group, *rank_logs]


def log_tail(workspace: Workspace, lines: int = 20, limit: int = 4000) -> str:
    """The last lines of the trainer's console output, at most `limit` bytes.

    Several processes share the lines. The one that ended first comes first.
    """
    logs = [path for path in workspace.logs if path.stat().st_size]
    logs = sorted(logs, key=lambda path: path.stat().st_mtime)[:_MOST_TAILS]
    share = (max(_FEWEST_LINES, lines // len(logs)), limit // len(logs)) if logs else (0, 0)
    return "\n".join(_tail_of(path, *share) for path in logs)


def _tail_of(path: Path, lines: int, limit: int) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def job_resources(spec: dict[str, Any]) -> ResourcesSpec:
    """The resources of a stored spec. One that was stored before the field existed has one process."""
    return ResourcesSpec.model_validate(spec.get("resources", {}))


def capacity_refusal(spec: dict[str, Any], settings: Settings) -> CapacityRefusal | None:
    """The reason why the job needs more than this machine gives; None if it fits. One process always fits."""
    wanted = job_resources(spec)
    if wanted.machines > settings.machines:
        return CapacityRefusal(
            "too_many_machines",
            f"The job asks for {wanted.machines} machines (`resources.machines`); this worker is the first of a group "
            f"of {settings.machines} (`PROXIMAL_MACHINES`).",
        )
    if wanted.processes == 1:
        return None
    count, reason = _most_processes(spec, settings)
    if wanted.processes <= count:
        return None
    return CapacityRefusal(
        "too_many_processes",
        f"The job asks for {wanted.processes} processes on a machine (`resources.processes`); this one gives {count}: "
        f"{reason}. Ask for fewer, or run the worker on a larger machine.",
    )


def runs_on_gpu(spec: dict[str, Any], settings: Settings) -> bool:
    """Whether a trainer of this spec uses GPUs of this machine."""
    return spec.get("runtime", {}).get("device") != "cpu" and bool(list_gpus(settings.cuda_visible_devices))


def _most_processes(spec: dict[str, Any], settings: Settings) -> tuple[int, str]:
    if settings.processes is not None:
        return settings.processes, "the value of `PROXIMAL_PROCESSES`"
    gpus = 0 if spec.get("runtime", {}).get("device") == "cpu" else len(list_gpus(settings.cuda_visible_devices))
    return (gpus, "one for each GPU") if gpus else (cores(), "one for each core")
