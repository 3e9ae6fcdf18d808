"""A new job: checked against what it names, then queued."""

from typing import Any

from sqlalchemy.orm import Session

from core import datasets
from core.errors import InvalidSpec, NotFound, WrongDatasetKind
from core.ids import new_id
from core.job_state import born
from core.jobs.naming import check_names
from core.models import CheckpointPin, Dataset, Job, JobDataset
from core.settings import Settings, get_settings
from core.storable import bad_text
from trainer.spec import DATASETS, JobSpec


def create(session: Session, owner_id: str, spec: JobSpec, settings: Settings | None = None) -> Job:
    """Queue a run of `spec`, whose datasets and checkpoints must be the owner's and of the right kind."""
    resolved = spec.model_dump(mode="json")
    _check_text(resolved)
    needed = check_names(session, owner_id, spec, settings or get_settings())
    used = _datasets(session, owner_id, spec)
    job = Job(id=new_id("job"), owner_id=owner_id, name=spec.name, spec=resolved, priority=0, attempt=0, last_seq=0)
    born(session, job, "Created.")
    session.add_all(JobDataset(job_id=job.id, role=role, dataset_id=dataset.id) for role, dataset in used.items())
    session.add_all(CheckpointPin(job_id=job.id, field=at, checkpoint_id=found.id) for at, found in needed.items())
    session.flush()
    return job


def _check_text(resolved: dict[str, Any]) -> None:
    if pointer := bad_text(resolved):
        detail = "holds a NUL character or half of a surrogate pair"
        param = pointer.removeprefix("#/").replace("/", ".")
        raise InvalidSpec(f"{pointer}: {detail}", param=param, errors=[{"pointer": pointer, "detail": detail}])


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
