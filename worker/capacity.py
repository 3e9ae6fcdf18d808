"""The machine of a worker: its GPUs, cores, memory and labels. CUDA is not initialised: `nvidia-smi` reports the GPUs."""

import csv
import os
import socket
import subprocess
from dataclasses import dataclass
from importlib.metadata import version

from core.jobs.queue.workers import Gpu, MachineReport
from core.lanes import default_slots
from core.scheduling.matching import Capacity
from core.settings import Settings

_QUERY = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")


@dataclass(frozen=True)
class _ListedGpu:
    index: str
    uuid: str
    gpu: Gpu


def report_of(settings: Settings) -> MachineReport:
    """The machine with the limits of the settings. It is read once, when the worker starts."""
    gpus = list_gpus(settings.cuda_visible_devices)
    capacity = Capacity(
        gpus=len(gpus),
        gpu_memory_gib=min((gpu.memory_gib for gpu in gpus), default=0),
        gpu_processes=settings.processes or len(gpus),
        cpu_processes=settings.processes or cores(),
        machines=settings.machines,
        labels=frozenset(settings.labels),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return MachineReport(capacity, tuple(gpus), cores(), memory, version("proximal-rlhf"), name_of(settings))


def name_of(settings: Settings) -> str:
    """The worker's name: the one that the settings give, or that of the machine and of the GPUs that it is restricted to."""
    devices = settings.cuda_visible_devices
    return settings.worker_name or socket.gethostname() + (f"/{devices}" if devices else "")


def list_gpus(chosen: str | None) -> list[Gpu]:
    """The NVIDIA GPUs that a trainer sees: all, or those that `CUDA_VISIBLE_DEVICES` lists by number or UUID."""
    try:
        listing = subprocess.run(_QUERY, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    gpus = [_found(row) for row in csv.reader(listing.splitlines(), skipinitialspace=True) if len(row) == 4]
    if chosen is None:
        return [one.gpu for one in gpus]
    wanted = [name.strip() for name in chosen.split(",")]
    parts = [Gpu("MIG", 0) for name in wanted if gpus and name.startswith("MIG-")]  # slices of a GPU have no row
    return [one.gpu for one in gpus if any(_names(name, one) for name in wanted)] + parts


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data_slots(settings: Settings) -> int:
    """The number of tasks that the data worker of this machine runs at a time."""
    return settings.data_slots or default_slots(cores())


def _found(row: list[str]) -> _ListedGpu:
    """The driver reports MiB, a little less than the nominal memory, so the GiB are rounded."""
    index, uuid, name, mebibytes = row
    memory = round(int(mebibytes) / 1024) if mebibytes.isdigit() else 0
    return _ListedGpu(index, uuid, Gpu(name, memory))


def _names(name: str, one: _ListedGpu) -> bool:
    return name == one.index or (len(name) > 4 and one.uuid.startswith(name))
