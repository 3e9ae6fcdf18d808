"""Datasets: upload, list, rename, archive, delete."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy.orm import Session

from api.datasets import views
from api.datasets.body import DATASET_BODY, IDEMPOTENT_UPLOAD, Form, read_body
from api.datasets.schemas import ChangeDataset, Dataset, DatasetList, DataTask, DataTaskList, ImportDataset
from api.deps import (
    After,
    BlobsDep,
    DatasetDep,
    ExternalId,
    ExternalIdFilter,
    Limit,
    OrderBy,
    PrincipalDep,
    SessionDep,
    SettingsDep,
    oldest_first,
    refresh,
)
from api.etags import ETAG, IfMatch, set_etag
from api.problems import BadRequest, documented
from api.progress import progress_of
from api.validation import StrictRoute
from core import models, tasks
from core.access.keys import Principal
from core.blobs import BlobStore
from core.datasets import importing, listing, retention, versions
from core.datasets.importing import Import, ReadingOptions, Source
from core.datasets.listing import DatasetFilter, DatasetSort
from core.errors import (
    CrossOrigin,
    DatasetInUse,
    DiskFull,
    ExternalIdTaken,
    FormatUnclear,
    InvalidDataset,
    InvalidMapping,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    PreconditionFailed,
    QuotaExceeded,
    TooLarge,
    UploadNotComplete,
    WrongMediaType,
)
from core.external_ids import refuse_taken, set_external_id
from core.tasks import tasks_of_dataset
from core.uploads import store
from core.uploads.reading import opener
from data.schema import DatasetKind

ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": Dataset,
        "description": "The import of an upload has started; `status` and `progress` show its state.",
    }
}
router = APIRouter(prefix="/datasets", tags=["Datasets"], route_class=StrictRoute)
_SORT = (
    "Order of the list: a name, with `-` in front for descending. Equal ones follow newest first. `rows` and `size` are those "
    "of the newest version; datasets without rows come last."
)


@router.post(
    "",
    status_code=201,
    openapi_extra=DATASET_BODY,
    dependencies=IDEMPOTENT_UPLOAD,
    responses=ACCEPTED
    | documented(
        NotSignedIn,
        CrossOrigin,
        NotFound,
        UploadNotComplete,
        ExternalIdTaken,
        TooLarge,
        WrongMediaType,
        InvalidRequest,
        FormatUnclear,
        InvalidMapping,
        InvalidDataset,
        QuotaExceeded,
        DiskFull,
    ),
)
def upload_dataset(
    principal: PrincipalDep,
    wanted: Annotated[Form | ImportDataset, Depends(read_body)],
    session: SessionDep,
    blobs: BlobsDep,
    settings: SettingsDep,
    response: Response,
    external_id: ExternalId = None,
) -> Dataset:
    """Create a dataset from the file in a form, at once (201), or from a complete upload, in the background (202).

    Every record is validated. If a record in a form is invalid, nothing is stored and the error names lines and columns,
    unless `bad_rows` allows it. Format, kind and encoding are detected if the request does not name them. If several formats
    fit, the error `format_unclear` lists them in `candidates`, and a mapping made from the columns' names in `suggested`. It also
    stops an import that would lose a column which looks meaningful: `questions` lists the column, its values and the choices.
    """
    scratch = settings.data_dir / "scratch"
    refuse_taken(session, models.Dataset, principal.owner_id, external_id)
    if isinstance(wanted, Form):
        limits = importing.request_limits_of(settings)
        version = importing.import_now(session, blobs, principal.owner_id, wanted.wanted, limits, scratch)
    else:
        response.status_code = 202
        body = _wanted(session, blobs, principal, wanted)
        version = importing.import_later(session, principal.owner_id, body, importing.limits_of(settings), scratch)
    dataset = versions.dataset_of(session, principal.owner_id, version.dataset_id)
    set_external_id(session, dataset, external_id)
    return _dataset(session, dataset)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_datasets(  # noqa: PLR0913  # one for each filter
    principal: PrincipalDep,
    session: SessionDep,
    kind: Annotated[DatasetKind | None, Query(description="Only datasets of this kind.")] = None,
    external_id: ExternalIdFilter = None,
    search: Annotated[str | None, Query(description="Only datasets whose name contains this text.")] = None,
    archived: Annotated[bool, Query(description="Archived datasets instead of the others.")] = False,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
    sort: Annotated[DatasetSort, Query(description=_SORT)] = "-created",
) -> DatasetList:
    """Your datasets."""
    wanted = DatasetFilter(kind.value if kind else None, external_id, search, archived)
    sort = "created" if oldest_first(order, sort) else sort
    found = listing.list_datasets(session, principal.owner_id, wanted, after, limit, sort)
    return DatasetList.from_items(views.datasets(session, found.items), found.has_more)


@router.get("/{dataset_id}", responses=ETAG | documented(NotSignedIn, NotFound, InvalidRequest))
def get_dataset(dataset: DatasetDep, session: SessionDep, response: Response) -> Dataset:
    """One dataset."""
    return _tagged(response, _dataset(session, dataset))


def _tagged(response: Response, dataset: Dataset) -> Dataset:
    set_etag(response, dataset.etag)
    return dataset


@router.patch(
    "/{dataset_id}",
    responses=ETAG
    | documented(
        BadRequest, NotSignedIn, CrossOrigin, NotFound, PreconditionFailed, TooLarge, WrongMediaType, InvalidRequest
    ),
)
def change_dataset(
    dataset: DatasetDep, body: ChangeDataset, session: SessionDep, condition: IfMatch, response: Response
) -> Dataset:
    """Rename a dataset, or set when it expires."""
    condition.check(session, dataset)
    if body.name is not None:
        dataset.name = versions.checked_name(body.name)
    if "expires_at" in body.model_fields_set:
        retention.keep_until(dataset, body.expires_at)
    return _tagged(response, _dataset(session, dataset))


@router.post("/{dataset_id}/archive", responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest))
def archive_dataset(dataset: DatasetDep, session: SessionDep) -> Dataset:
    """Archive a dataset: lists leave it out. Jobs can still use it."""
    retention.archive(dataset)
    return _dataset(session, dataset)


@router.post("/{dataset_id}/unarchive", responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest))
def unarchive_dataset(dataset: DatasetDep, session: SessionDep) -> Dataset:
    """Return an archived dataset to the lists."""
    retention.unarchive(dataset)
    return _dataset(session, dataset)


@router.delete(
    "/{dataset_id}",
    status_code=204,
    responses=documented(NotSignedIn, CrossOrigin, NotFound, DatasetInUse, PreconditionFailed, InvalidRequest),
)
def delete_dataset(dataset: DatasetDep, session: SessionDep, blobs: BlobsDep, condition: IfMatch) -> None:
    """Delete a dataset with all its versions, unless an unfinished job uses one. `jobs` of the problem lists these jobs."""
    condition.check(session, dataset)
    retention.delete(session, blobs, dataset.id)


@router.get("/{dataset_id}/tasks", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_dataset_tasks(dataset: DatasetDep, session: SessionDep) -> DataTaskList:
    """List the data tasks of a dataset: imports, search indexes, reports."""
    rows = tasks_of_dataset(session, dataset.owner_id, dataset.id)
    return DataTaskList.from_items(_tasks(session, rows))


@router.post(
    "/{dataset_id}/tasks/{task_id}/cancel",
    responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest),
)
def cancel_dataset_task(dataset: DatasetDep, task_id: str, session: SessionDep) -> DataTask:
    """Cancel a data task. The version that it was making is then `failed`. A finished task does not change."""
    task = tasks.get(session, dataset.owner_id, task_id)
    if task.args.get("dataset") != dataset.id:
        raise NotFound(f"There is no task {task_id!r} of {dataset.id}.")
    tasks.cancel(session, task)
    return _tasks(session, [task])[0]


def _tasks(session: Session, rows: Sequence[models.DataTask]) -> list[DataTask]:
    """Views. The note of a task that waits gives the reason."""
    progress = progress_of(session, rows)
    shown = [(DataTask.model_validate(row), progress.get(row.id)) for row in rows]
    return [
        task if now is None else task.model_copy(update={"note": now.note, "place": now.place}) for task, now in shown
    ]


def _wanted(session: Session, blobs: BlobStore, principal: Principal, body: ImportDataset) -> Import:
    """The import of an upload, which is pinned until the import has ended."""
    upload = store.take(session, principal.owner_id, body.upload)
    source = Source(opener(blobs, upload), upload.filename, upload.id, upload.url)
    reading = ReadingOptions(body.kind and body.kind.value, body.format, body.mapping, body.encoding, body.ignore)
    return Import(source, body.name or versions.default_name(upload.filename), reading, body.bad_rows)


def _dataset(session: Session, dataset: models.Dataset) -> Dataset:
    refresh(session, dataset)
    for shown in views.datasets(session, [dataset]):
        return shown
    raise NotFound(f"{dataset.id} was deleted meanwhile.")
