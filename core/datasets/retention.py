"""Archives, expires and deletes datasets."""

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
"""Most datasets that one sweep deletes."""


def archive(dataset: Dataset) -> None:
    """Hide the dataset in lists. It can still be used."""
    dataset.archived_at = dataset.archived_at or datetime.now(UTC)


def unarchive(dataset: Dataset) -> None:
    dataset.archived_at = None


def keep_until(dataset: Dataset, moment: datetime | None) -> None:
    """Set the time after which the sweeper may delete it; None: never. Raises InvalidRequest for a time in the past."""
    if moment is not None and moment <= datetime.now(UTC):
        detail = "must be in the future. Delete the dataset to remove it now"
        raise InvalidRequest(
            f"`expires_at` {detail}.", param="expires_at", errors=[{"pointer": "#/expires_at", "detail": detail}]
        )
    dataset.expires_at = moment


def delete(session: Session, blobs: BlobStore, dataset_id: str) -> None:
    """Delete the dataset with all of its versions, and cancel its tasks. Raises NotFound, and DatasetInUse for unfinished jobs.

    The lock waits for jobs that are being created with the dataset, so that the query sees all of them. It also waits for a
    concurrent deletion, after which nothing is left to lock. Then tasks, versions and contents are locked, in this order.
    """
    dataset = session.scalars(select(Dataset).filter_by(id=dataset_id).with_for_update()).one_or_none()
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id!r}.")
    if jobs := unfinished_jobs(session, dataset_id):
        raise DatasetInUse(
            f"{dataset_id} is used by {', '.join(jobs)}. Cancel these jobs or wait for their end.", jobs=jobs
        )
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
    _request_index_again(session, sums)
    prefixes = [f"versions/{id_}" for id_ in ids] + [f"reports/{id_}" for id_ in reports]
    after_commit(session, lambda: discard(blobs, prefixes))


def unfinished_jobs(session: Session, dataset_id: str) -> list[str]:
    """Ids of the unfinished jobs that use a version of the dataset."""
    return list(session.scalars(_unfinished_jobs().where(DatasetVersion.dataset_id == dataset_id).order_by(Job.id)))


def expired(session: Session) -> list[str]:
    """Expired datasets that no unfinished job uses. The caller deletes each in a transaction of its own."""
    in_use = _unfinished_jobs().where(DatasetVersion.dataset_id == Dataset.id).exists()
    past = select(Dataset.id).where(Dataset.expires_at < func.clock_timestamp(), ~in_use)
    return list(session.scalars(past.order_by(Dataset.expires_at).limit(_AT_A_TIME)))


def _request_index_again(session: Session, sums: Iterable[str]) -> None:
    """Request the search index of other versions with these rows, whose index task may have been cancelled."""
    for sha256 in sums:
        other = session.scalars(select(DatasetVersion).filter_by(sha256=sha256).limit(1)).first()
        if other is not None:
            search.request(session, other)


def _unfinished_jobs() -> Select[str]:
    query = select(Job.id).join(JobDataset, JobDataset.job_id == Job.id)
    query = query.join(DatasetVersion, DatasetVersion.id == JobDataset.version_id)
    return query.where(Job.status.not_in(TERMINAL)).distinct()
