"""Whether this worker's machine can run a job."""

from dataclasses import dataclass
from typing import Any

from core.settings import Settings
from trainer.spec import ResourcesSpec
from worker.capacity import cores, list_gpus


@dataclass(frozen=True)
class CapacityRefusal:
    """The reason why a machine like this one cannot run a job."""

    code: str
    message: str


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
