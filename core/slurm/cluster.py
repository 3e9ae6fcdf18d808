"""The partitions and nodes of a Slurm cluster, and the problems that keep a worker from submitting to it."""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from core.settings import SlurmSettings
from core.slurm.client import ControllerAway, NotInstalled, SlurmError, call

_FORMAT = "%R|%P|%a|%l|%D|%T|%c|%m|%G|%N|%E"
_GPUS = re.compile(r"\bgpu(?::[^:,()]+)?:(\d+)")
_NAME = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class NodeGroup:
    """The nodes of a partition that are equal and in one state."""

    state: str
    """Slurm's word, such as `idle` or `down`. It ends with `*` if the nodes do not respond."""
    count: int
    nodes: str
    """Their names, as Slurm abbreviates them."""
    cores: int
    memory_mib: int
    gpus: int
    reason: str = ""
    """Why they take no jobs, in the words of the operator or of Slurm."""


@dataclass(frozen=True)
class Partition:
    """A partition, by groups of equal nodes."""

    name: str
    default: bool
    up: bool
    time_limit: str
    groups: tuple[NodeGroup, ...] = ()

    @property
    def nodes(self) -> int:
        return sum(group.count for group in self.groups)


@dataclass(frozen=True)
class Cluster:
    """A cluster as its controller describes it."""

    name: str = ""
    partitions: tuple[Partition, ...] = field(default=())

    def partition(self, name: str) -> Partition | None:
        """The partition of this name; for an empty name the default one."""
        return next((one for one in self.partitions if one.name == name or (not name and one.default)), None)

    def stored(self) -> dict[str, Any]:
        """The fields as JSON."""
        return {"engine": "slurm", **asdict(self)}


def read_cluster() -> Cluster:
    """The cluster of this machine's configuration. Raises SlurmError."""
    rows: dict[str, list[list[str]]] = {}
    for line in call("sinfo", "--noheader", "--exact", f"--format={_FORMAT}").splitlines():
        parts = line.split("|", 10)
        rows.setdefault(parts[0], []).append(parts)
    name = _NAME.search(call("scontrol", "show", "config"))
    return Cluster(name[1] if name else "", tuple(_partition(lines) for lines in rows.values()))


def _partition(lines: list[list[str]]) -> Partition:
    name, marked, up, limit = lines[0][:4]
    groups = tuple(_group(parts) for parts in lines if parts[4].isdigit() and int(parts[4]))
    return Partition(name, marked.endswith("*"), up == "up", limit, groups)


def _group(parts: list[str]) -> NodeGroup:
    count, state, cores, memory, resources, nodes, reason = parts[4:]
    gpus = sum(int(number) for number in _GPUS.findall(resources))
    return NodeGroup(
        state, int(count), nodes, _number(cores), _number(memory), gpus, "" if reason == "none" else reason
    )


def _number(text: str) -> int:
    found = re.match(r"\d+", text)
    return int(found[0]) if found else 0


def problem_of(settings: SlurmSettings, cluster: Cluster) -> str | None:
    """Why a worker with these settings cannot submit to the cluster; None if it can."""
    wanted = settings.slurm_partition
    partition = cluster.partition(wanted)
    known = ", ".join(one.name for one in cluster.partitions) or "none"
    if partition is None and wanted:
        return f"Slurm has no partition {wanted!r} (PROXIMAL_SLURM_PARTITION). It has {known}. Name one of them."
    if partition is None:
        return f"Slurm has no default partition. Name one of {known} in PROXIMAL_SLURM_PARTITION."
    if not partition.up:
        return f"Slurm's partition {partition.name!r} is down. `scontrol update PartitionName={partition.name} State=UP` opens it."
    return None


def problem_of_error(error: SlurmError) -> str:
    """The sentence for an error of a command that every worker needs."""
    if isinstance(error, NotInstalled):
        return f"{error}. Install Slurm's commands (`slurm-client` on Debian) on the worker's machine."
    if isinstance(error, ControllerAway):
        return f"The controller of Slurm does not respond: {error}. `scontrol ping` shows its state."
    return f"Slurm's commands fail: {error}."


def checked(settings: SlurmSettings) -> tuple[Cluster | None, str | None]:
    """The cluster, and why a worker with these settings cannot submit to it; each is None where there is none."""
    try:
        call("sbatch", "--version")
        cluster = read_cluster()
    except SlurmError as error:
        return None, problem_of_error(error)
    return cluster, problem_of(settings, cluster)
