"""What this machine can give to one job, found out without torch: CUDA never lives in the worker's process."""

import os
import subprocess
from dataclasses import dataclass
from typing import Any

from core.settings import Settings
from trainer.spec import ResourcesSpec


@dataclass(frozen=True)
class Refusal:
    """Why a job cannot run here, whoever takes it up next on such a machine."""

    code: str
    message: str


def resources_of(spec: dict[str, Any]) -> ResourcesSpec:
    """A job that was submitted before there was a choice has one process."""
    return ResourcesSpec.model_validate(spec.get("resources", {}))


def refusal(spec: dict[str, Any], settings: Settings) -> Refusal | None:
    """Whether the job asks for more than there is. One process on one machine always is."""
    wanted = resources_of(spec)
    if wanted.machines > settings.machines:
        return Refusal(
            "too_many_machines",
            f"The job asks for {wanted.machines} machines (`resources.machines`); this worker is the first of a group "
            f"of {settings.machines} (`PROXIMAL_MACHINES`).",
        )
    if wanted.processes == 1:
        return None
    count, what = _processes(spec, settings)
    if wanted.processes <= count:
        return None
    return Refusal(
        "too_many_processes",
        f"The job asks for {wanted.processes} processes on a machine (`resources.processes`); this one gives {count}: "
        f"{what}. Ask for fewer, or run the worker on a larger machine.",
    )


def _processes(spec: dict[str, Any], settings: Settings) -> tuple[int, str]:
    if settings.processes is not None:
        return settings.processes, "what `PROXIMAL_PROCESSES` says"
    gpus = 0 if spec.get("runtime", {}).get("device") == "cpu" else visible_gpus(settings.cuda_visible_devices)
    return (gpus, "one for each GPU") if gpus else (cores(), "one for each core")


def visible_gpus(chosen: str | None) -> int:
    """NVIDIA GPUs that a trainer would see: all, or those that `CUDA_VISIBLE_DEVICES` names."""
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return 0
    there = sum(line.startswith("GPU ") for line in listing.stdout.splitlines())
    if chosen is None:
        return there
    return sum(name.strip() not in ("", "-1") for name in chosen.split(","))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
