"""The launcher `kubernetes`: fits jobs to the operator's limits, creates Jobs, and attaches to those of an earlier process."""

from dataclasses import replace
from typing import Any

from core.jobs.queue.workers import EngineReport, MachineReport
from core.kubernetes.namespace import Namespace
from core.scheduling.matching import KUBERNETES, Capacity, Requirement
from core.settings import Settings
from worker.capacity import report_of
from worker.jobs.launch.fit import CapacityRefusal
from worker.jobs.launch.followed import read_record
from worker.jobs.launch.interface import Launcher, RunToStart, Trainer
from worker.jobs.launch.kubernetes.trainer import RECORD, KubernetesTrainer
from worker.jobs.launch.watch import EngineWatch
from worker.jobs.workspace import Workspace


class KubernetesLauncher(Launcher):
    """Creates one Job for each attempt, or one TrainJob if it has several machines."""

    outlives_worker = True

    def __init__(self, watch: EngineWatch[Namespace]) -> None:
        self._watch = watch

    def report(self, settings: Settings) -> MachineReport:
        capacity = capacity_of(settings)
        return replace(report_of(settings), capacity=capacity, gpus=(), memory_bytes=0, launcher="kubernetes")

    def engine_report(self) -> EngineReport:
        namespace = self._watch.cluster
        return EngineReport(self._watch.problem, None if namespace is None else namespace.stored())

    def refusal(self, spec: dict[str, Any], settings: Settings) -> CapacityRefusal | None:
        need = Requirement.of_spec(spec)
        if capacity_of(settings).fits(need):
            return None
        return CapacityRefusal(
            "too_large_for_the_cluster",
            f"The job asks for {need.machines} machines with {need.processes} processes each (`resources`), and this worker's "
            "pods may have fewer (PROXIMAL_KUBERNETES_MACHINES, PROXIMAL_KUBERNETES_GPUS, PROXIMAL_PROCESSES). Ask for fewer.",
        )

    def start(self, run: RunToStart) -> Trainer:
        return KubernetesTrainer(run)

    def has_started(self, workspace: Workspace) -> bool:
        return read_record(workspace, RECORD) is not None

    def attach(self, run: RunToStart) -> Trainer:
        return KubernetesTrainer(run, read_record(run.workspace, RECORD) or {})


def capacity_of(settings: Settings) -> Capacity:
    """The limits that the operator has declared, since a worker has no rights on nodes."""
    return Capacity(
        gpus=settings.kubernetes_gpus,
        gpu_memory_gib=settings.kubernetes_gpu_memory_gib if settings.kubernetes_gpus else 0,
        gpu_processes=settings.processes or settings.kubernetes_gpus,
        cpu_processes=settings.processes or settings.max_processes,
        machines=settings.kubernetes_machines,
        labels=frozenset({*settings.labels, KUBERNETES}),
    )
