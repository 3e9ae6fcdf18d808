"""The arguments of `sbatch` for one attempt. Each name and path is one argument, which no shell reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.settings import Settings
from core.slurm.cluster import Cluster
from trainer.spec import SlurmSpec
from worker.jobs.launch.fit import job_resources
from worker.jobs.launch.interface import RunToStart
from worker.jobs.launch.trainer_command import TRAINER, batch_arguments

SCRIPT = '#!/bin/sh\nexec "$@"\n'
"""The batch script. Its arguments are the command, so it contains no name and no path."""
_SCRIPT_FILE = "batch.sh"
_LONGEST_NAME = 200


def comment_of(job_id: str, attempt: int) -> str:
    """The text by which a worker finds the batch job of an attempt again."""
    return f"proximal {job_id} {attempt}"


def arguments_of(run: RunToStart, cluster: Cluster | None) -> list[str]:
    """The options, the script and its arguments. Writes the script into the run folder."""
    script = run.workspace.folder / _SCRIPT_FILE
    script.write_text(SCRIPT)
    python = run.settings.slurm_python or TRAINER[0]
    command = [python, *TRAINER[1:], *batch_arguments(run.workspace, job_resources(run.spec))]
    return [*_options(run, cluster), str(script), *command]


def general_options(settings: Settings) -> list[str]:
    """The options that come from the settings alone, and so apply to every job."""
    return [*_own_options(settings, SlurmSpec()), *settings.slurm_options]


def uses_gpus(spec: dict[str, Any], own: SlurmSpec, settings: Settings, cluster: Cluster | None) -> bool:
    """Whether the job takes GPUs of its nodes: it asks for them, or may use them and the partition has some."""
    device = spec.get("runtime", {}).get("device", "auto")
    partition = cluster.partition(own.partition or settings.slurm_partition) if cluster else None
    return device == "cuda" or (
        device == "auto" and partition is not None and any(one.gpus for one in partition.groups)
    )


def signal_seconds(settings: Settings, minutes: int | None) -> int:
    """Seconds before the time limit at which the trainer is asked to save: never more than half of the time."""
    return max(1, min(round(settings.stop_seconds), 30 * minutes if minutes else round(settings.stop_seconds)))


def _options(run: RunToStart, cluster: Cluster | None) -> Iterator[str]:
    settings, resources = run.settings, job_resources(run.spec)
    own = resources.slurm or SlurmSpec()
    minutes = own.minutes or settings.slurm_minutes
    yield f"--job-name={_name_of(run)}"
    yield f"--comment={comment_of(run.job_id, run.attempt)}"
    yield f"--chdir={run.workspace.folder}"
    yield f"--output={_pattern(run.workspace.log)}"
    yield "--open-mode=append"
    yield "--requeue"
    yield f"--signal=B:TERM@{signal_seconds(settings, minutes)}"
    yield f"--nodes={resources.machines}"
    yield "--ntasks-per-node=1"
    yield f"--cpus-per-task={resources.processes * settings.slurm_cpus_per_process}"
    if uses_gpus(run.spec, own, settings, cluster):
        yield f"--gres=gpu:{resources.processes}"
    yield from _own_options(settings, own)
    yield from settings.slurm_options


def _own_options(settings: Settings, own: SlurmSpec) -> Iterator[str]:
    """The job's options, or else the worker's settings."""
    values = {
        "partition": own.partition or settings.slurm_partition,
        "account": own.account or settings.slurm_account,
        "qos": own.qos or settings.slurm_qos,
        "time": own.minutes or settings.slurm_minutes,
        "constraint": own.constraint,
        "exclude": own.exclude,
        "reservation": own.reservation,
    }
    yield from (f"--{name}={value}" for name, value in values.items() if value)
    memory = own.memory_gib or settings.slurm_memory_gib
    if memory:
        yield f"--mem={memory}G"


def _name_of(run: RunToStart) -> str:
    """The job's name in one line; without one, its id. It is data: Slurm neither splits nor expands it."""
    name = "".join(sign if sign.isprintable() else " " for sign in str(run.spec.get("name") or "")).strip()
    return name[:_LONGEST_NAME] or run.job_id


def _pattern(file: Path) -> str:
    """A path in which Slurm replaces nothing."""
    return str(file).replace("%", "%%")
