"""The launcher `local`: the trainer is a process of this machine, within the machine's capacity, and ends with the worker."""

import signal
from collections.abc import Sequence
from typing import Any

from core import child
from core.settings import Settings
from trainer.spec import ResourcesSpec
from worker.jobs.invitations import invite_machines
from worker.jobs.launch.fit import CapacityRefusal, capacity_refusal, job_resources, runs_on_gpu
from worker.jobs.launch.interface import EngineEnd, Launcher, RunToStart, Trainer
from worker.jobs.launch.trainer_command import TRAINER, MachineRank, environment, trainer_arguments
from worker.jobs.workspace import Workspace
from worker.memory_limit import MemoryLimit, memory_limit


class LocalLauncher(Launcher):
    """Starts `command run spec.json …` in a workspace. The trainer leads a process group and dies with this process.

    A run in several processes is started by `command launch spec.json …`, which passes on how its processes end. To the
    worker it looks like a trainer in one process.
    """

    def __init__(self, command: Sequence[str] = TRAINER) -> None:
        self._command = command

    def refusal(self, spec: dict[str, Any], settings: Settings) -> CapacityRefusal | None:
        return capacity_refusal(spec, settings)

    def start(self, run: RunToStart) -> "LocalTrainer":
        resources, settings = job_resources(run.spec), run.settings
        memory = memory_limit(
            settings.trainer_memory_gib,
            f"{run.job_id}-{run.attempt}",
            processes=resources.processes,
            on_gpu=runs_on_gpu(run.spec, settings),
        )
        try:
            if resources.machines > 1:
                invite_machines(run.workspace, resources, settings.rendezvous)
            machine = MachineRank(0, settings.rendezvous)
            return LocalTrainer(self.start_processes(run.workspace, resources, machine, memory.rules), memory)
        except BaseException:
            memory.close()
            raise

    def start_processes(
        self,
        workspace: Workspace,
        resources: ResourcesSpec,
        machine: MachineRank,
        memory: child.MemoryRules = child.NO_MEMORY_RULES,
    ) -> child.Child:
        """Start this machine's processes of a run."""
        arguments = trainer_arguments(workspace, resources, machine)
        log_file = workspace.log if machine.rank == 0 else workspace.log.with_stem(f"trainer-{machine.rank}")
        with log_file.open("ab") as log:
            command = [*self._command, *arguments]
            return child.start(command, cwd=workspace.folder, env=environment(), stdout=log, memory=memory)


class LocalTrainer(Trainer):
    """A process of this machine and its memory limit."""

    def __init__(self, process: child.Child, memory: MemoryLimit) -> None:
        self._process, self._memory = process, memory
        self.pid, self.label = process.pid, f"process {process.pid}"

    def poll(self) -> int | None:
        return self._process.poll()

    def ask_to_end(self) -> None:
        self._process.send(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    def observe(self) -> None:
        self._memory.observe()

    def engine_end(self) -> EngineEnd | None:
        """The kernel's report, if memory ran out."""
        why = self._memory.why_killed()
        return EngineEnd(why) if why else None

    def close(self) -> None:
        self._process.kill()
        self._memory.close()
