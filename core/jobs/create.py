"""A new job: checked against what it names, then queued."""

from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from core import datasets
from core.errors import InvalidSpec, NotFound, WrongDatasetKind
from core.ids import new_id
from core.job_state import born
from core.models import Dataset, Job, JobDataset
from core.settings import LocalModels, get_settings
from core.storable import bad_text
from trainer.spec import DATASETS, JobSpec


def create(session: Session, owner_id: str, spec: JobSpec, local_models: LocalModels | None = None) -> Job:
    """Queue a run of `spec`, whose datasets must be the owner's and of the right kind."""
    resolved = spec.model_dump(mode="json")
    _check_text(resolved)
    _check_model(spec.model.path, get_settings().local_models if local_models is None else local_models)
    used = _datasets(session, owner_id, spec)
    job = Job(id=new_id("job"), owner_id=owner_id, name=spec.name, spec=resolved, priority=0, attempt=0, last_seq=0)
    born(session, job, "Created.")
    session.add_all(JobDataset(job_id=job.id, role=role, dataset_id=dataset.id) for role, dataset in used.items())
    session.flush()
    return job


def _check_text(resolved: dict[str, Any]) -> None:
    if pointer := bad_text(resolved):
        detail = "holds a NUL character or half of a surrogate pair"
        param = pointer.removeprefix("#/").replace("/", ".")
        raise InvalidSpec(f"{pointer}: {detail}", param=param, errors=[{"pointer": pointer, "detail": detail}])


def _check_model(path: str | None, allowed: LocalModels) -> None:
    """A folder of the worker's machine is only named by those whom the operator lets."""
    if path is None or allowed == "any" or not _names_a_folder(path):
        return
    roots = [] if allowed == "none" else allowed
    # Lexical on purpose: the folder is the worker's, and need not exist here.
    if ".." in Path(path).parts or not any(Path(path).is_relative_to(root) for root in roots):
        where = f"below {', '.join(map(str, roots))}" if roots else "nowhere"
        detail = f"this platform takes local model folders from {where}; name a hub model instead"
        raise InvalidSpec(param="model.path", errors=[{"pointer": "#/model/path", "detail": detail}])


def _names_a_folder(path: str) -> bool:
    """Anything but `name` and `owner/name`, which are hub ids."""
    return path.startswith(("/", ".", "~", "\\")) or path.count("/") > 1 or ":" in path or "\\" in path


def _datasets(session: Session, owner_id: str, spec: JobSpec) -> dict[str, Dataset]:
    used = {}
    for role in DATASETS:
        if (dataset_id := getattr(spec.data, role)) is None:
            continue
        param = f"data.{role}"
        try:
            dataset = datasets.get(session, owner_id, dataset_id, keep=True)
        except NotFound as error:
            raise NotFound(f"There is no dataset {dataset_id!r}.", param=param) from error
        if dataset.kind != role:
            raise WrongDatasetKind(f"{dataset_id} holds {dataset.kind}; data.{role} takes {role}.", param=param)
        used[role] = dataset
    return used
