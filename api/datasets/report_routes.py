"""Reports on datasets, and fixes of what they find."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session

from api.datasets import views
from api.datasets.report_schemas import ApplyFixes, Report, ReportList, RequestReport
from api.datasets.schemas import DatasetVersion
from api.deps import After, BlobsDep, DatasetDep, Limit, PrincipalDep, SessionDep
from api.idempotency import IDEMPOTENT
from api.problems import documented
from api.progress import progress_of
from api.schema import DataProgress
from api.validation import StrictRoute
from core import models
from core.datasets import fixes, reports, versions
from core.errors import (
    CrossOrigin,
    DatasetFailed,
    DatasetNotReady,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    QuotaExceeded,
    WrongMediaType,
)
from core.models.datasets import VersionStatus
from core.models.tasks import TaskStatus
from core.paging import page

router = APIRouter(prefix="/datasets", tags=["Reports"], route_class=StrictRoute)
_REFUSALS = (NotSignedIn, CrossOrigin, NotFound, DatasetNotReady, WrongMediaType, InvalidRequest, DatasetFailed)
_THERE: dict[int | str, dict[str, Any]] = {200: {"description": "The report exists.", "model": Report}}
_READY: dict[int | str, dict[str, Any]] = {201: {"description": "The version is ready.", "model": DatasetVersion}}


@router.post(
    "/{dataset_id}/reports",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=_THERE | documented(*_REFUSALS),
)
def request_report(
    dataset: DatasetDep, principal: PrincipalDep, body: RequestReport, session: SessionDep, response: Response
) -> Report:
    """Request a report on a version. Each version gets one without a model as soon as it has rows. With the model and the
    limits of a job, the report uses that job's tokenizer and template."""
    version = _version(session, principal.owner_id, dataset.id, body.version)
    made = reports.request(session, version, body.model_dump(exclude={"version"}, exclude_none=True))
    found = reports.get(session, dataset.id, made.id)
    if found.task.status not in (TaskStatus.QUEUED, TaskStatus.RUNNING):
        response.status_code = 200
    return _reports(session, [found])[0]


@router.get("/{dataset_id}/reports", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_reports(
    dataset: DatasetDep,
    session: SessionDep,
    version: Annotated[int | None, Query(ge=1, description="Only of this version.")] = None,
    limit: Limit = 20,
    after: After = None,
) -> ReportList:
    """Reports on a dataset's versions, newest first."""
    query = reports.of_dataset(dataset.id, version)
    found = page(session, query, models.DatasetReport, after, limit, "desc")
    return ReportList.from_items(_reports(session, reports.with_details(session, found.items)), found.has_more)


@router.get("/{dataset_id}/reports/{report_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_report(dataset: DatasetDep, report_id: str, session: SessionDep) -> Report:
    """Return a report with its progress and its findings."""
    return _reports(session, [reports.get(session, dataset.id, report_id)])[0]


@router.post(
    "/{dataset_id}/fixes",
    status_code=202,
    dependencies=IDEMPOTENT,
    responses=_READY | documented(*_REFUSALS, QuotaExceeded),
)
def apply_fixes(
    dataset: DatasetDep,
    principal: PrincipalDep,
    body: ApplyFixes,
    session: SessionDep,
    blobs: BlobsDep,
    response: Response,
) -> DatasetVersion:
    """Apply the fixes of findings: make a new version without the rows, or with the texts changed. The old version does not
    change."""
    version = _version(session, principal.owner_id, dataset.id, body.version)
    report = None
    if body.report is not None:
        found = reports.get(session, dataset.id, body.report)
        if found.version.id != version.id:
            detail = f"{body.report} is about version {found.version.number}, not {version.number}"
            errors = [{"pointer": "#/report", "detail": detail}]
            raise InvalidRequest(f"{detail}.", param="report", errors=errors)
        report = found.report
    made = fixes.apply(session, blobs, version, body.findings, report)
    session.refresh(made)
    if made.status == VersionStatus.READY:
        response.status_code = 201
    return views.dataset_versions(session, [made])[0]


def _version(session: Session, owner_id: str, dataset_id: str, number: int | None) -> models.DatasetVersion:
    return versions.get(session, owner_id, dataset_id if number is None else f"{dataset_id}@{number}", keep=True)


def _reports(session: Session, found: Sequence[reports.ReportDetails]) -> list[Report]:
    progress = progress_of(session, [each.task for each in found])
    return [_report(each, progress.get(each.task.id)) for each in found]


def _report(found: reports.ReportDetails, progress: DataProgress | None) -> Report:
    report, task = found.report, found.task
    stored = {name: getattr(report, name) for name in ("id", "settings", "result", "created_at")}
    return Report.model_validate(
        stored
        | {"dataset_id": found.version.dataset_id, "version": found.version.number, "status": task.status}
        | {"progress": progress, "error": task.error}
    )
