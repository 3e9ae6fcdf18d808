"""The settings of a worker that submits to Slurm."""

import shlex
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from core.settings.launcher import LauncherSettings


def _options(value: object) -> object:
    """Options from a text, split by the rules of quotation that a shell has."""
    return shlex.split(value) if isinstance(value, str) else value


_SET_BY_THE_LAUNCHER = [
    "array",
    "batch",
    "chdir",
    "comment",
    "cpus-per-task",
    "error",
    "export",
    "gres",
    "job-name",
    "mem",
    "nodes",
    "no-requeue",
    "ntasks",
    "ntasks-per-node",
    "open-mode",
    "output",
    "parsable",
    "requeue",
    "signal",
    "test-only",
    "time",
    "wait",
    "wrap",
]


class SlurmSettings(LauncherSettings, BaseSettings):
    """The settings of a worker that submits to Slurm. `proximal doctor` reads them too, and needs no others."""

    model_config = LauncherSettings.model_config

    slurm_partition: str = ""
    """Partition of the batch jobs. Empty: the cluster's default. A job may name another one (`resources.slurm.partition`)."""
    slurm_account: str = ""
    """Account that Slurm charges for the batch jobs. Empty: the user's default."""
    slurm_qos: str = ""
    """Quality of service of the batch jobs. Empty: the default."""
    slurm_minutes: Annotated[int, Field(ge=1)] | None = None
    """Time limit of a batch job in minutes. The trainer saves before it, and the job is queued again. Left out: the partition's limit."""
    slurm_memory_gib: Annotated[int, Field(ge=1)] | None = None
    """Memory of a batch job on each node, in GiB. Left out: the cluster's default."""
    slurm_cpus_per_process: Annotated[int, Field(ge=1)] = 1
    """Cores for each process of a trainer. Increase it for jobs on GPUs, whose tokenisation and data loading need some."""
    slurm_gpu_memory_gib: Annotated[int, Field(ge=0)] = 0
    """Memory of the smallest GPU of the partition, in GiB, because Slurm does not know it. Jobs with `resources.gpu_memory_gib` need it."""
    slurm_options: Annotated[list[str], NoDecode, BeforeValidator(_options)] = []
    """Further options of `sbatch` for every batch job, as `--constraint=a100 --exclusive`. Each begins with `--`, and has its value after `=`. The launcher sets names, output, nodes, tasks, memory, time and signals itself, and such options are refused."""
    slurm_python: str = ""
    """Path of the Python on the nodes that has the trainer. Empty: the path of the worker's own Python."""
    slurm_poll_seconds: Annotated[float, Field(gt=0)] = 2
    """Seconds between two calls of `squeue` for a running job. Events do not wait for it. Increase it if the controller is busy."""
    slurm_lease_seconds: Annotated[float, Field(ge=30)] = 600
    """Seconds for which a job in Slurm goes on without its worker. A worker of the same name that starts in this time continues to follow it. Afterwards the job goes back to the queue, and its trainer ends."""

    @field_validator("slurm_minutes", "slurm_memory_gib", mode="before")
    @classmethod
    def _empty_slurm_is_left_out(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("slurm_options")
    @classmethod
    def _options_are_free(cls, options: list[str]) -> list[str]:
        for option in options:
            name, _, _ = option.partition("=")
            if not name.startswith("--") or len(name) < 3:
                raise ValueError(f"{option}: an option begins with `--`, and its value follows after `=`")
            if name[2:] in _SET_BY_THE_LAUNCHER:
                raise ValueError(f"{name}: the launcher sets this option itself")
        return options
