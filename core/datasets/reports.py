"""Data reports on versions. A version has one report for each combination of settings; a data task makes it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core import tasks
from core.access.allowlist import model_refusal
from core.access.references import is_checkpoint_id
from core.errors import DatasetFailed, DatasetNotReady, InvalidRequest, NotFound
from core.models import Checkpoint, DatasetReport, DatasetVersion, DataTask, Job
from core.models.base import new_id
from core.models.datasets import VersionStatus
from core.models.tasks import TaskStatus
from core.settings import Settings, get_settings

REPORT = "report"
"""The kind of the data task that makes a report."""
WITH_MODEL = ("chat_template", "max_prompt_tokens", "max_completion_tokens")
"""Settings that have no effect without a tokenizer."""
_OVER = (TaskStatus.FAILED, TaskStatus.CANCELLED)


@dataclass(frozen=True)
class ReportDetails:
    """A report with its version, and the task that makes it."""

    report: DatasetReport
    version: DatasetVersion
    task: DataTask


def request(session: Session, version: DatasetVersion, settings: dict[str, Any] | None = None) -> DatasetReport:
    """The report on a version with these settings. A data task is queued unless a report exists or is being made.

    Fields of `settings` that are missing or null have the trainer's defaults. The version must have rows.

    Raises DatasetNotReady or DatasetFailed for a version without rows; InvalidRequest or NotFound for a model that may not be
    used.
    """
    wanted = _normal(settings or {})
    require_rows(version)
    owner_id = version.dataset.owner_id
    if "model" in wanted:
        check_model(session, owner_id, wanted["model"], get_settings())
    # This lock serialises concurrent requests, so that the second one finds the report of the first.
    session.execute(select(DatasetVersion.id).filter_by(id=version.id).with_for_update(key_share=True))
    sha256 = hashlib.sha256(orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS)).hexdigest()
    row = session.scalars(select(DatasetReport).filter_by(version_id=version.id, settings_sha256=sha256)).one_or_none()
    if row is not None and session.get_one(DataTask, row.task_id).status not in _OVER:
        return row
    report = row or DatasetReport(id=new_id("rep"), version_id=version.id, settings=wanted, settings_sha256=sha256)
    task = tasks.enqueue(session, owner_id, REPORT, {"dataset": version.dataset_id, "report": report.id})
    report.task_id = task.id
    session.add(report)
    session.flush()
    session.refresh(report)
    return report


def require_rows(version: DatasetVersion) -> None:
    """Raises DatasetNotReady or DatasetFailed for a version without rows."""
    which = f"Version {version.number} of {version.dataset_id}"
    if version.status == VersionStatus.IMPORTING:
        raise DatasetNotReady(f"{which} is still being imported.")
    if version.sha256 is None:
        raise DatasetFailed(f"{which} could not be made, and has no rows.")


def check_model(session: Session, owner_id: str, model: str, settings: Settings) -> None:
    """Raises NotFound or InvalidRequest unless the model is the owner's checkpoint, an allowed folder, or a hub id."""
    if is_checkpoint_id(model):
        checkpoint_of(session, owner_id, model)
        return
    detail = model_refusal(model, settings.path_rules)
    if detail is not None:
        raise InvalidRequest(f"`model`: {detail}.", param="model", errors=[{"pointer": "#/model", "detail": detail}])


def checkpoint_of(session: Session, owner_id: str, checkpoint_id: str) -> Checkpoint:
    """The owner's checkpoint. Raises NotFound."""
    query = select(Checkpoint).join(Job, Job.id == Checkpoint.job_id)
    row = session.scalars(query.where(Checkpoint.id == checkpoint_id, Job.owner_id == owner_id)).one_or_none()
    if row is None:
        raise NotFound(f"There is no checkpoint {checkpoint_id!r}.", param="model")
    return row


def get(session: Session, dataset_id: str, report_id: str) -> ReportDetails:
    """A report on a version of the dataset. Raises NotFound."""
    report = session.scalars(of_dataset(dataset_id).where(DatasetReport.id == report_id)).one_or_none()
    if report is None:
        raise NotFound(f"There is no report {report_id!r} of {dataset_id}.")
    return with_details(session, [report])[0]


def of_dataset(dataset_id: str, number: int | None = None) -> Select[DatasetReport]:
    """All reports on a dataset; `number`: on one version only."""
    query = select(DatasetReport).join(DatasetVersion, DatasetVersion.id == DatasetReport.version_id)
    query = query.where(DatasetVersion.dataset_id == dataset_id)
    return query if number is None else query.where(DatasetVersion.number == number)


def with_details(session: Session, reports: Sequence[DatasetReport]) -> list[ReportDetails]:
    """The reports with their versions and tasks, in the same order."""
    version_ids, task_ids = {report.version_id for report in reports}, {report.task_id for report in reports}
    versions = session.scalars(select(DatasetVersion).where(DatasetVersion.id.in_(version_ids)))
    tasks_made = session.scalars(select(DataTask).where(DataTask.id.in_(task_ids)))
    of_id = {version.id: version for version in versions}
    made_by = {task.id: task for task in tasks_made}
    return [ReportDetails(report, of_id[report.version_id], made_by[report.task_id]) for report in reports]


def newest(session: Session, version: DatasetVersion) -> DatasetReport | None:
    """The newest finished report on a version; None without one."""
    query = select(DatasetReport).filter_by(version_id=version.id).where(DatasetReport.result.is_not(None))
    return session.scalars(query.order_by(DatasetReport.created_at.desc(), DatasetReport.id).limit(1)).first()


def rows_key(report_id: str, code: str) -> str:
    """The blob key of the row numbers of a finding: from 1, ascending, little-endian uint64."""
    return f"reports/{report_id}/{code}.u64"


def _normal(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without nulls and without fields that have no effect, so that equal requests have equal settings."""
    given = {name: value for name, value in settings.items() if value is not None}
    return given if "model" in given else {name: value for name, value in given.items() if name not in WITH_MODEL}
