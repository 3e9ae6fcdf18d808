"""The resources that a job needs, the resources that a worker has, and whether they match. Pure functions."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Device = Literal["auto", "cpu", "cuda"]
SLURM = "launcher=slurm"
"""The label of workers that submit to Slurm. They also have one for each partition of their cluster."""
KUBERNETES = "launcher=kubernetes"
"""The label of workers that create Jobs in Kubernetes."""
_MANY = 2**31 - 1


@dataclass(frozen=True)
class Requirement:
    """The resources that a job needs. All jobs with equal requirements can run on the same workers."""

    processes: int = 1
    """Processes on each machine."""
    machines: int = 1
    device: Device = "auto"
    gpu_memory_gib: int = 0
    """Smallest memory of each GPU, in GiB. Ignored for a job on the CPU."""
    labels: frozenset[str] = frozenset()
    """Labels that the worker must have."""

    @property
    def slots(self) -> int:
        """The number of GPUs that the job takes, or of processes on a worker without a GPU."""
        return self.processes * self.machines

    @classmethod
    def of_spec(cls, spec: dict[str, Any]) -> "Requirement":
        """The requirement of a stored spec. Fields that an older release did not store have their defaults."""
        resources = spec.get("resources") or {}
        return cls(
            processes=resources.get("processes", 1),
            machines=resources.get("machines", 1),
            device=(spec.get("runtime") or {}).get("device", "auto"),
            gpu_memory_gib=resources.get("gpu_memory_gib") or 0,
            labels=frozenset(resources.get("labels") or ()) | _labels_of_slurm(resources.get("slurm")),
        )

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> "Requirement":
        """The inverse of `stored`."""
        return cls(**stored | {"labels": frozenset(stored.get("labels", ()))})

    def stored(self) -> dict[str, Any]:
        """The fields that differ from their defaults. Equal requirements have equal dicts."""
        fields: dict[str, Any] = {"processes": self.processes, "machines": self.machines, "device": self.device}
        fields |= {"gpu_memory_gib": self.gpu_memory_gib, "labels": sorted(self.labels)}
        default = {"processes": 1, "machines": 1, "device": "auto", "gpu_memory_gib": 0, "labels": []}
        return {name: value for name, value in fields.items() if value != default[name]}


def partition_label(name: str) -> str:
    """The label of the workers whose cluster has this partition."""
    return f"partition={name}"


def _labels_of_slurm(options: dict[str, Any] | None) -> frozenset[str]:
    """The labels that a worker needs for a job with `resources.slurm`."""
    if options is None:
        return frozenset()
    partition = options.get("partition")
    return frozenset({SLURM, *([partition_label(partition)] if partition else [])})


@dataclass(frozen=True)
class Capacity:
    """The resources that a worker gives to one job."""

    gpus: int = 0
    gpu_memory_gib: int = 0
    """Memory of the smallest of its GPUs, in GiB."""
    gpu_processes: int = 0
    """Most processes of a job that uses the GPUs."""
    cpu_processes: int = 1
    """Most processes of a job on the CPU."""
    machines: int = 1
    """Machines that work on one job together."""
    labels: frozenset[str] = frozenset()

    def fits(self, need: Requirement) -> bool:
        """Whether a job with this requirement can run here. One process fits every worker."""
        on_gpu = need.device != "cpu" and self.gpus > 0
        most = self.gpu_processes if on_gpu else self.cpu_processes
        return (
            (need.device != "cuda" or self.gpus > 0)
            and need.machines <= self.machines
            and (need.processes == 1 or need.processes <= most)
            and (need.device == "cpu" or need.gpu_memory_gib <= self.gpu_memory_gib)
            and need.labels <= self.labels
        )

    @property
    def class_name(self) -> str:
        """Workers with equal names can run the same jobs."""
        size = f"gpu{self.gpus}x{self.gpu_memory_gib}-{self.gpu_processes}" if self.gpus else "cpu"
        group = f"-m{self.machines}" if self.machines > 1 else ""
        return ".".join((f"{size}-{self.cpu_processes}{group}", *sorted(self.labels)))

    def stored(self) -> dict[str, Any]:
        """The fields as JSON."""
        return asdict(self) | {"labels": sorted(self.labels)}

    @classmethod
    def from_stored(cls, stored: dict[str, Any]) -> "Capacity":
        """The inverse of `stored`. A worker of an older release reports nothing, and runs every job without labels."""
        return cls(**stored | {"labels": frozenset(stored.get("labels", ()))}) if stored else EVERYTHING


EVERYTHING = Capacity(_MANY, _MANY, _MANY, _MANY, _MANY)
"""A worker that runs every job without labels."""
