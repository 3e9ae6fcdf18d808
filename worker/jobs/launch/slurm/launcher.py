"""The launcher `slurm`: fits jobs to a cluster, submits them, and attaches to those of an earlier process of the worker."""

from dataclasses import replace
from typing import Any

from core.jobs.queue.workers import EngineReport, MachineReport
from core.scheduling.matching import EVERYTHING, SLURM, Capacity, Requirement, partition_label
from core.settings import Settings
from core.slurm import client
from core.slurm.client import Refused
from core.slurm.cluster import Cluster
from worker.capacity import report_of
from worker.jobs.launch.fit import CapacityRefusal
from worker.jobs.launch.interface import Launcher, RunToStart, Trainer
from worker.jobs.launch.slurm.request import SCRIPT, arguments_of, general_options
from worker.jobs.launch.slurm.trainer import SlurmTrainer, Submission, recorded_job
from worker.jobs.launch.trainer_command import environment
from worker.jobs.launch.watch import EngineWatch
from worker.jobs.workspace import Workspace

_TRIAL = "trial.sh"


class SlurmLauncher(Launcher):
    """Submits one batch job for each attempt."""

    outlives_worker = True

    def __init__(self, watch: EngineWatch[Cluster]) -> None:
        self._watch = watch

    def report(self, settings: Settings) -> MachineReport:
        cluster = self._watch.cluster
        capacity = replace(EVERYTHING, labels=frozenset({*settings.labels, SLURM}))
        if cluster is not None:
            capacity = capacity_of(cluster, settings)
        return replace(report_of(settings), capacity=capacity, gpus=(), memory_bytes=0, launcher="slurm")

    def engine_report(self) -> EngineReport:
        cluster = self._watch.cluster
        return EngineReport(self._watch.problem, None if cluster is None else cluster.stored())

    def refusal(self, spec: dict[str, Any], settings: Settings) -> CapacityRefusal | None:
        need, cluster = Requirement.of_spec(spec), self._watch.cluster
        if cluster is None or capacity_of(cluster, settings).fits(need):
            return None
        return CapacityRefusal(
            "too_large_for_the_cluster",
            f"No partition of this worker fits the job: it asks for {need.machines} nodes with {need.processes} processes each "
            "(`resources`). Ask for fewer, or run a worker for a larger partition.",
        )

    def start(self, run: RunToStart) -> Trainer:
        return SlurmTrainer(run, self._submission(run))

    def has_started(self, workspace: Workspace) -> bool:
        return recorded_job(workspace) is not None

    def attach(self, run: RunToStart) -> Trainer:
        return SlurmTrainer(run, self._submission(run), recorded_job(run.workspace) or "")

    def _submission(self, run: RunToStart) -> Submission:
        return Submission(lambda: arguments_of(run, self._watch.cluster), lambda: _refusal_of_settings(run))


def _refusal_of_settings(run: RunToStart) -> str | None:
    """Why Slurm refuses even a job of one process with the worker's settings; None if it does not."""
    script = run.workspace.folder / _TRIAL
    script.write_text(SCRIPT)
    try:
        client.call("sbatch", "--test-only", *general_options(run.settings), str(script), "true", env=environment())
    except Refused as error:
        return str(error)
    return None


def capacity_of(cluster: Cluster, settings: Settings) -> Capacity:
    """The resources that the partition of the settings gives to one job, and the labels of the cluster."""
    partition = cluster.partition(settings.slurm_partition)
    groups = partition.groups if partition else ()
    gpus = max((group.gpus for group in groups), default=0)
    cores = max((group.cores for group in groups), default=1) // settings.slurm_cpus_per_process
    labels = {SLURM, *(partition_label(one.name) for one in cluster.partitions)}
    return Capacity(
        gpus=gpus,
        gpu_memory_gib=settings.slurm_gpu_memory_gib if gpus else 0,
        gpu_processes=settings.processes or gpus,
        cpu_processes=settings.processes or max(1, cores),
        machines=max(1, partition.nodes if partition else 1),
        labels=frozenset(settings.labels) | labels,
    )
