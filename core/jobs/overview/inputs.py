"""The datasets and checkpoints that stored specs name, with names for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.references import is_checkpoint_id
from core.jobs.overview.lineage import place_in_words
from core.models import Checkpoint, Dataset, DatasetVersion, Job, JobDataset
from data.findings import Described
from trainer.spec import DATASETS


class JobInput(Described):
    """A dataset or checkpoint that a spec names."""

    field: str
    """The field of the spec, such as `data.preferences` or `rewards.0.path`."""
    value: str
    """The reference in the spec."""
    kind: Literal["dataset", "checkpoint"]
    """Whether it is a dataset or a checkpoint."""
    name: str | None
    """In words: `reviews, version 2`, or `"First", PPO step 40`; null for one that was deleted."""
    id: str
    """Id of the dataset or checkpoint."""
    job: str | None = None
    """The job that saved the checkpoint; null for a dataset, and for a checkpoint that was deleted."""


def inputs(session: Session, rows: Sequence[Job]) -> dict[str, list[JobInput]]:
    """The inputs of each job, by its id, in the order of the spec. A job's inputs belong to its owner."""
    named = {row.id: list(_checkpoints(row.spec)) for row in rows}
    saved = _saved(session, {id_ for found in named.values() for _, id_ in found}, {row.owner_id for row in rows})
    versions = _versions(session, list(named))
    return {
        row.id: [
            *(_dataset(row.id, role, value, versions) for role, value in _datasets(row.spec)),
            *(_checkpoint(field, id_, saved) for field, id_ in named[row.id]),
        ]
        for row in rows
    }


def model_names(session: Session, rows: Sequence[Job]) -> dict[str, str]:
    """For each job that starts from a stored checkpoint: the checkpoint in words, by the job's id."""
    wanted = {row.id: row.model for row in rows if row.model is not None and is_checkpoint_id(row.model)}
    saved = _saved(session, set(wanted.values()), {row.owner_id for row in rows if row.id in wanted})
    return {job: _checkpoint("model.path", id_, saved).name or "a deleted checkpoint" for job, id_ in wanted.items()}


def _datasets(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data = spec.get("data") or {}
    for role in DATASETS:
        if isinstance(data.get(role), str):
            yield role, data[role]


def _checkpoints(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The field and id of each checkpoint. Older specs have other fields, so the whole tree is searched for `path` and `against`."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _checkpoints(inner, (*at, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _checkpoints(inner, (*at, str(index)))
    elif isinstance(value, str) and at[-1] in ("path", "against") and is_checkpoint_id(value):
        yield ".".join(at), value


def _versions(session: Session, ids: Sequence[str]) -> dict[tuple[str, str], tuple[str, int]]:
    """Name and version number of the datasets of the jobs, by job and role."""
    query = (
        select(JobDataset.job_id, JobDataset.role, Dataset.name, DatasetVersion.number)
        .join(DatasetVersion, DatasetVersion.id == JobDataset.version_id)
        .join(Dataset, Dataset.id == DatasetVersion.dataset_id)
        .where(JobDataset.job_id.in_(ids))
    )
    return {(job, role): (name, number) for job, role, name, number in session.execute(query)}


def _dataset(job: str, role: str, value: str, versions: Mapping[tuple[str, str], tuple[str, int]]) -> JobInput:
    found = versions.get((job, role))
    name = found and f"{found[0]}, version {found[1]}"
    return JobInput(field=f"data.{role}", value=value, kind="dataset", name=name, id=value.partition("@")[0])


def _saved(session: Session, ids: set[str], owners: set[str]) -> dict[str, tuple[Checkpoint, str]]:
    if not ids:
        return {}
    query = select(Checkpoint, Job.name).join(Job, Job.id == Checkpoint.job_id)
    found = session.execute(query.where(Checkpoint.id.in_(ids), Job.owner_id.in_(owners)))
    return {one.id: (one, name) for one, name in found}


def _checkpoint(field: str, id_: str, saved: Mapping[str, tuple[Checkpoint, str]]) -> JobInput:
    if id_ not in saved:
        return JobInput(field=field, value=id_, kind="checkpoint", name=None, id=id_)
    one, job = saved[id_]
    words = place_in_words({"stage": one.stage, "step": one.step, "final": one.final, "seed": one.seed})
    return JobInput(field=field, value=id_, kind="checkpoint", name=f'"{job}", {words}', id=id_, job=one.job_id)
