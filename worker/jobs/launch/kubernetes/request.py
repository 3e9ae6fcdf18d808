"""The objects for one attempt, from its spec and the worker's settings. Names and paths of a user are data in them."""

from pathlib import Path
from typing import Any

from core.kubernetes.client import Manifest
from core.kubernetes.objects import JOB, TITLE, TRAIN_JOB, Kind, job, labels_of, object_name, train_job
from core.kubernetes.pods import Folder, PodRequest
from core.settings import Settings
from worker.jobs.launch.fit import job_resources
from worker.jobs.launch.interface import RunToStart
from worker.jobs.launch.trainer_command import pod_arguments

_LONGEST_TITLE = 1000


def kind_of(spec: dict[str, Any]) -> Kind:
    """A TrainJob for several machines."""
    return TRAIN_JOB if job_resources(spec).machines > 1 else JOB


def manifest_of(run: RunToStart) -> Manifest:
    """The Job or the TrainJob of an attempt."""
    machines = job_resources(run.spec).machines
    request = request_of(run)
    return train_job(request, machines, run.settings) if machines > 1 else job(request, run.settings)


def request_of(run: RunToStart) -> PodRequest:
    resources, folder = job_resources(run.spec), run.workspace.folder
    return PodRequest(
        name=object_name(run.job_id, run.attempt),
        labels=labels_of(run.job_id, run.attempt),
        annotations={TITLE: str(run.spec.get("name") or "")[:_LONGEST_TITLE]},
        arguments=pod_arguments(run.workspace, resources),
        run=_folder(folder, run.settings),
        others=tuple(_folder(path, run.settings) for path in _linked(folder, run.settings.data_dir)),
        processes=resources.processes,
        gpus=resources.processes if uses_gpus(run.spec, run.settings) else 0,
        stop_seconds=run.settings.stop_seconds,
    )


def uses_gpus(spec: dict[str, Any], settings: Settings) -> bool:
    """Whether the pods take GPUs: the job asks for them, or may use them and the operator has declared some."""
    device = spec.get("runtime", {}).get("device", "auto")
    return device == "cuda" or (device == "auto" and settings.kubernetes_gpus > 0)


def _folder(path: Path, settings: Settings) -> Folder:
    return Folder(str(path), path.relative_to(settings.data_dir).as_posix())


def _linked(folder: Path, data_dir: Path) -> list[Path]:
    """Folders of the data folder that links in the run folder lead to, such as that of TensorBoard."""
    targets = [link.resolve() for link in sorted(folder.iterdir()) if link.is_symlink()]
    return [target for target in targets if target.is_dir() and target.is_relative_to(data_dir)]
