"""How datasets leave: put aside, deleted, past their time."""

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore, discard
from core.datasets import row_store, search
from core.db import after_commit
from core.errors import DatasetInUse, InvalidRequest, NotFound
from core.models import Dataset, DatasetReport, DatasetVersion, DataTask, Job, JobDataset
from core.models.jobs import TERMINAL

_AT_A_TIME = 20
"""Datasets that one sweep deletes."""


def archive(dataset: Dataset) -> None:
    """Leave it out of lists. Everything else goes on as before."""
    dataset.archived_at = dataset.archived_at or datetime.now(UTC)


def unarchive(dataset: Dataset) -> None:
    dataset.archived_at = None


def keep_until(dataset: Dataset, moment: datetime | None) -> None:
    """When the sweeper may delete it; None: never. InvalidRequest for a moment that has passed."""
    if moment is not None and moment <= datetime.now(UTC):
        detail = "must be in the future; delete the dataset to be rid of it now"
        raise InvalidRequest(
            f"`expires_at` {detail}.", param="expires_at", errors=[{"pointer": "#/expires_at", "detail": detail}]
        )
    dataset.expires_at = moment


def delete(session: Session, blobs: BlobStore, dataset_id: str) -> None:
    """Forget it with all of its versions, unless an unfinished job needs one. Whatever is being done to it is cancelled.

    The lock waits for jobs that are being created with the dataset, so that the query sees all of them. It also waits for a
    concurrent deletion, after which nothing is left to lock. Then tasks, versions and contents are locked, in this order.
    """
    dataset = session.scalars(select(Dataset).filter_by(id=dataset_id).with_for_update()).one_or_none()
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id!r}.")
    if jobs := unfinished_jobs(session, dataset_id):
        raise DatasetInUse(f"{dataset_id} is used by {', '.join(jobs)}.", jobs=jobs)
    of_it = select(DataTask).where(DataTask.status.in_(tasks.UNFINISHED), tasks.argument("dataset") == dataset_id)
    for task in session.scalars(of_it.order_by(DataTask.id)).all():
        tasks.cancel(session, task)
    query = select(DatasetVersion).filter_by(dataset_id=dataset_id).order_by(DatasetVersion.id)
    versions = session.scalars(query.with_for_update(of=DatasetVersion)).all()
    ids = [version.id for version in versions]
    reports = session.scalars(select(DatasetReport.id).where(DatasetReport.version_id.in_(ids))).all()
    session.delete(dataset)
    session.flush()
    sums = {version.sha256 for version in versions if version.sha256 is not None}
    row_store.release(session, blobs, sums)
    _index_what_stays(session, sums)
    prefixes = [f"versions/{id_}" for id_ in ids] + [f"reports/{id_}" for id_ in reports]
    after_commit(session, lambda: discard(blobs, prefixes))


def unfinished_jobs(session: Session, dataset_id: str) -> list[str]:
    """The jobs that still need a version of it."""
    return list(session.scalars(_needing().where(DatasetVersion.dataset_id == dataset_id).order_by(Job.id)))


def expired(session: Session) -> list[str]:
    """Expired datasets that no unfinished job uses. The caller deletes each in a transaction of its own."""
    in_use = _needing().where(DatasetVersion.dataset_id == Dataset.id).exists()
    past = select(Dataset.id).where(Dataset.expires_at < func.clock_timestamp(), ~in_use)
    return list(session.scalars(past.order_by(Dataset.expires_at).limit(_AT_A_TIME)))


def _index_what_stays(session: Session, sums: Iterable[str]) -> None:
    """Other datasets with the same rows may have relied on an index task that went with this one."""
    for sha256 in sums:
        other = session.scalars(select(DatasetVersion).filter_by(sha256=sha256).limit(1)).first()
        if other is not None:
            search.request(session, other)


def _needing() -> Select[str]:
    query = select(Job.id).join(JobDataset, JobDataset.job_id == Job.id)
    query = query.join(DatasetVersion, DatasetVersion.id == JobDataset.version_id)
    return query.where(Job.status.not_in(TERMINAL)).distinct()
