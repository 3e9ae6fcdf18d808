"""The versions of a dataset, and their rows."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from sqlalchemy import select

from api.datasets import views
from api.datasets.schemas import DatasetRow, DatasetRowList, DatasetVersion, DatasetVersionList
from api.deps import After, BlobsDep, DatasetDep, Limit, OrderBy, SessionDep
from api.problems import documented
from core import models
from core.datasets import row_pages, versions
from core.datasets.row_pages import Filters, ShownRow
from core.datasets.splits import EVAL_FRACTION
from core.errors import DatasetFailed, DatasetNotReady, InvalidRequest, NotFound, NotSignedIn, SearchNotReady
from core.pages import page

router = APIRouter(prefix="/datasets", tags=["Datasets"])
MOST, MOST_VERSIONS = 2**62, 999_999_999


def _version(
    dataset: DatasetDep,
    session: SessionDep,
    version: Annotated[
        int | None, Query(ge=1, le=MOST_VERSIONS, description="Which version. Left out: the newest.")
    ] = None,
) -> models.DatasetVersion:
    reference = dataset.id if version is None else f"{dataset.id}@{version}"
    return versions.get(session, dataset.owner_id, reference)


def _filters(
    search: Annotated[
        str | None, Query(max_length=1000, description='Only rows with these words, as `"a phrase" or word -without`.')
    ] = None,
    finding: Annotated[str | None, Query(description="Only rows that a report's finding with this code names.")] = None,
    report: Annotated[str | None, Query(description="Which report. Left out: the newest of the version.")] = None,
    split: Annotated[
        Literal["train", "eval"] | None, Query(description="Only rows that a run would train on, or hold out.")
    ] = None,
    eval_fraction: Annotated[
        float, Query(gt=0, lt=1, description="Share of the prompts that is held out, as `data.eval_fraction` of a job.")
    ] = EVAL_FRACTION,
) -> Filters:
    return Filters(search, finding, report, split, eval_fraction)


VersionDep = Annotated[models.DatasetVersion, Depends(_version)]
FiltersDep = Annotated[Filters, Depends(_filters)]
Number = Annotated[int, Path(ge=1, le=MOST_VERSIONS, description="Of the version, from 1.")]


@router.get("/{dataset_id}/versions", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_dataset_versions(
    dataset: DatasetDep, session: SessionDep, limit: Limit = 20, after: After = None, order: OrderBy = "desc"
) -> DatasetVersionList:
    """Its versions, each with the jobs that use it."""
    query = select(models.DatasetVersion).filter_by(dataset_id=dataset.id)
    found = page(session, query, models.DatasetVersion, after, limit, order)
    return DatasetVersionList.of(views.dataset_versions(session, found.items), found.has_more)


@router.get("/{dataset_id}/versions/{number}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_dataset_version(dataset: DatasetDep, number: Number, session: SessionDep) -> DatasetVersion:
    """One version."""
    version = versions.get(session, dataset.owner_id, f"{dataset.id}@{number}")
    (shown,) = views.dataset_versions(session, [version])
    return shown


@router.get(
    "/{dataset_id}/rows",
    responses=documented(NotSignedIn, NotFound, DatasetNotReady, SearchNotReady, InvalidRequest, DatasetFailed),
)
def list_dataset_rows(
    version: VersionDep,
    session: SessionDep,
    blobs: BlobsDep,
    filters: FiltersDep,
    after: Annotated[int, Query(ge=0, le=MOST, description="Only rows behind this number.")] = 0,
    limit: Limit = 20,
    sample: Annotated[int | None, Query(ge=1, le=100, description="So many at random, in place of a page.")] = None,
    seed: Annotated[int, Query(ge=0, le=MOST, description="The same seed gives the same sample.")] = 0,
) -> DatasetRowList:
    """Rows in order, in canonical form: all, or those that fit everything that is asked for."""
    if sample is not None:
        rows = row_pages.sample(session, blobs, version, filters, sample, seed)
    else:
        rows = row_pages.page(session, blobs, version, filters, after, limit)
    shown = DatasetRowList.of([_row(row) for row in rows.rows], rows.has_more, key="row_number")
    return shown.model_copy(update={"total": rows.total})


def _row(row: ShownRow) -> DatasetRow:
    stored = row.stored
    return DatasetRow(line=stored.line, row_number=stored.number, row=stored.row, split=row.split)
