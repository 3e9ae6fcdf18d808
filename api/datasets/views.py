"""Responses for datasets and versions, made from rows with a constant number of queries."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy import cast, func, select
from sqlalchemy.dialects.postgresql import JSONPATH, distinct_on
from sqlalchemy.orm import Session

from api.datasets.schemas import Dataset, DatasetVersion, FindingCounts
from api.etags import etag_of
from api.progress import progress_of
from api.schema import DataProgress
from core import models
from core.datasets import versions
from core.models.datasets import VersionStatus
from core.tasks import tasks_by_version


def datasets(session: Session, rows: Sequence[models.Dataset]) -> list[Dataset]:
    """Responses with the newest version of each dataset. A dataset without a version was just deleted, and is left out."""
    newest = versions.newest(session, [row.id for row in rows])
    rows = [row for row in rows if row.id in newest]
    importing = [version.id for version in newest.values() if version.status == VersionStatus.IMPORTING]
    at_work = tasks_by_version(session, importing)
    counts = _finding_counts(session, list(newest.values()))
    progress = progress_of(session, list(at_work.values()))
    shown = {version_id: progress.get(task.id) for version_id, task in at_work.items()}
    return [_dataset(row, newest[row.id], shown.get(newest[row.id].id), counts[newest[row.id].id]) for row in rows]


def dataset_versions(session: Session, rows: Sequence[models.DatasetVersion]) -> list[DatasetVersion]:
    """Versions of one dataset."""
    jobs = _jobs(session, [row.id for row in rows])
    parents = _numbers(session, [row.parent_id for row in rows if row.parent_id is not None])
    return [_version(row, parents.get(row.parent_id or ""), jobs[row.id]) for row in rows]


def _dataset(
    row: models.Dataset, version: models.DatasetVersion, progress: DataProgress | None, counts: Counter[str]
) -> Dataset:
    names = ("id", "name", "external_id", "kind", "created_at", "archived_at", "expires_at")
    stored = {name: getattr(row, name) for name in names}
    of_version = {"status": version.status, "version": version.number, "error": version.error, "origin": version.origin}
    found = FindingCounts(blocking=counts["blocking"], warning=counts["warning"])
    derived = {"findings": found, "progress": progress, "etag": etag_of(row)}
    return Dataset.model_validate(stored | of_version | _rows(version) | derived)


def _version(row: models.DatasetVersion, parent: int | None, jobs: list[str]) -> DatasetVersion:
    names = (
        "id",
        "dataset_id",
        "number",
        "status",
        "left_out",
        "findings",
        "origin",
        "error",
        "created_at",
        "ready_at",
    )
    stored = {name: getattr(row, name) for name in names}
    return DatasetVersion.model_validate(stored | _rows(row) | {"parent": parent, "jobs": jobs})


def _rows(version: models.DatasetVersion) -> dict[str, int | str | None]:
    content = version.content
    if content is None:
        return {"rows": None, "bytes": None, "sha256": None, "damage": None}
    return {"rows": content.rows, "bytes": content.bytes, "sha256": content.sha256, "damage": content.damage}


def _finding_counts(session: Session, rows: Sequence[models.DatasetVersion]) -> dict[str, Counter[str]]:
    """Findings of the import and of the newest report, counted by version and severity."""
    counts: dict[str, Counter[str]] = {row.id: Counter(item["severity"] for item in row.findings) for row in rows}
    report = models.DatasetReport
    severities = func.jsonb_path_query_array(report.result, cast("$.findings[*].severity", JSONPATH))
    query = select(report.version_id, severities).where(report.version_id.in_(counts), report.result.is_not(None))
    query = query.ext(distinct_on(report.version_id)).order_by(report.version_id, report.created_at.desc())
    for version_id, found in session.execute(query):
        counts[version_id].update(found)
    return counts


def _jobs(session: Session, version_ids: Sequence[str]) -> defaultdict[str, list[str]]:
    query = select(models.JobDataset.version_id, models.Job.id).join(
        models.Job, models.Job.id == models.JobDataset.job_id
    )
    query = query.where(models.JobDataset.version_id.in_(version_ids))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for version_id, job_id in session.execute(query.order_by(models.Job.created_at.desc(), models.Job.id)):
        found[version_id].append(job_id)
    return found


def _numbers(session: Session, version_ids: Sequence[str]) -> dict[str, int]:
    version = models.DatasetVersion
    query = select(version.id, version.number).where(version.id.in_(version_ids))
    return dict(session.execute(query).all())
