"""Versions of a dataset: rows, export, and the prompts that two versions share."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from api.datasets import views
from api.datasets.schemas import (
    DatasetRow,
    DatasetRowList,
    DatasetVersion,
    DatasetVersionList,
    Overlap,
    OverlapSide,
    SharedPrompts,
)
from api.deps import After, BlobsDep, DatasetDep, Limit, OrderBy, PrincipalDep, SessionDep
from api.problems import documented
from core import models
from core.datasets import overlap, row_pages, rows, search, versions
from core.datasets.damage import verify_rows
from core.datasets.row_pages import Filters, ShownRow
from core.datasets.splits import EVAL_FRACTION
from core.errors import (
    DatasetBlocked,
    DatasetDamaged,
    DatasetFailed,
    DatasetNotReady,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    PlatformError,
    SearchNotReady,
    StorageUnreadable,
    StoreFailed,
)
from core.paging import page
from data.export import ExportFormat, export
from data.schema import DatasetKind

router = APIRouter(prefix="/datasets", tags=["Datasets"])
MOST, MOST_VERSIONS = 2**62, 999_999_999
LEFT_OUT, NOT_CARRIED = "X-Proximal-Left-Out", "X-Proximal-Not-Carried"
_DAMAGE = (DatasetDamaged, StorageUnreadable, StoreFailed)
_REFUSALS = (
    NotSignedIn,
    NotFound,
    DatasetNotReady,
    SearchNotReady,
    InvalidRequest,
    DatasetBlocked,
    DatasetFailed,
    *_DAMAGE,
)


VersionQuery = Annotated[
    int | None, Query(ge=1, le=MOST_VERSIONS, description="Number of the version. Left out: the newest.")
]


def _version(
    dataset: DatasetDep,
    session: SessionDep,
    version: VersionQuery = None,
) -> models.DatasetVersion:
    reference = dataset.id if version is None else f"{dataset.id}@{version}"
    return versions.get(session, dataset.owner_id, reference)


def _filters(
    search: Annotated[
        str | None,
        Query(max_length=1000, description='Only rows with these words, such as `"a phrase" or word -without`.'),
    ] = None,
    finding: Annotated[
        str | None, Query(description="Only rows with this finding of a report, named by its code.")
    ] = None,
    report: Annotated[
        str | None, Query(description="The report with the finding. Left out: the newest of the version.")
    ] = None,
    split: Annotated[
        Literal["train", "eval"] | None,
        Query(description="Only rows of the training split, or of the evaluation split."),
    ] = None,
    eval_fraction: Annotated[
        float,
        Query(
            gt=0, lt=1, description="Share of the prompts in the evaluation split, as `data.eval_fraction` of a job."
        ),
    ] = EVAL_FRACTION,
) -> Filters:
    return Filters(search, finding, report, split, eval_fraction)


VersionDep = Annotated[models.DatasetVersion, Depends(_version)]
FiltersDep = Annotated[Filters, Depends(_filters)]
Number = Annotated[int, Path(ge=1, le=MOST_VERSIONS, description="Number of the version, from 1.")]


@router.get("/{dataset_id}/versions", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_dataset_versions(
    dataset: DatasetDep, session: SessionDep, limit: Limit = 20, after: After = None, order: OrderBy = "desc"
) -> DatasetVersionList:
    """List the versions of a dataset, each with the jobs that use it."""
    query = select(models.DatasetVersion).filter_by(dataset_id=dataset.id)
    found = page(session, query, models.DatasetVersion, after, limit, order)
    return DatasetVersionList.from_items(views.dataset_versions(session, found.items), found.has_more)


@router.get("/{dataset_id}/versions/{number}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_dataset_version(dataset: DatasetDep, number: Number, session: SessionDep) -> DatasetVersion:
    """One version."""
    version = versions.get(session, dataset.owner_id, f"{dataset.id}@{number}")
    (shown,) = views.dataset_versions(session, [version])
    return shown


@router.get(
    "/{dataset_id}/rows",
    responses=documented(
        NotSignedIn, NotFound, DatasetNotReady, SearchNotReady, InvalidRequest, DatasetFailed, *_DAMAGE
    ),
)
def list_dataset_rows(
    version: VersionDep,
    session: SessionDep,
    blobs: BlobsDep,
    filters: FiltersDep,
    after: Annotated[int, Query(ge=0, le=MOST, description="Only rows after this number.")] = 0,
    limit: Limit = 20,
    sample: Annotated[
        int | None, Query(ge=1, le=100, description="Return this many random rows instead of a page.")
    ] = None,
    seed: Annotated[int, Query(ge=0, le=MOST, description="The same seed gives the same sample.")] = 0,
) -> DatasetRowList:
    """List the rows of a version in canonical form: all, or those that match every filter."""
    if sample is not None:
        rows = row_pages.sample(session, blobs, version, filters, sample, seed)
    else:
        rows = row_pages.page(session, blobs, version, filters, after, limit)
    shown = DatasetRowList.from_items([_row(row) for row in rows.rows], rows.has_more, key="row_number")
    return shown.model_copy(update={"total": rows.total})


@router.get(
    "/{dataset_id}/export",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, DatasetNotReady, InvalidRequest, DatasetFailed, *_DAMAGE)
    | {
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                LEFT_OUT: {
                    "description": "Rows that the format cannot hold: ties, pairs without a label, and conversations that its reader skips.",
                    "schema": {"type": "integer"},
                },
                NOT_CARRIED: {
                    "description": "Number of rows with each property that the format cannot hold, such as `ties=2, margin=10`. "
                    "Left out are `ties`, `unlabelled` rows, conversations whose `turns` do not alternate, and `conversations` in a "
                    "file of texts. `rankings` become their pairs. `later_turns` behind the last answer are cut off. The notes "
                    "`annotator`, `margin`, `source`, `time` and the `answer` are dropped. The header is empty if the file holds "
                    "everything.",
                    "schema": {"type": "string"},
                },
            },
        }
    },
)
def export_dataset(
    dataset: DatasetDep,
    session: SessionDep,
    blobs: BlobsDep,
    format: Annotated[
        ExportFormat,
        Query(
            description="`trl`, `openai`, `openrlhf`, `llama_factory`: JSON Lines of these programs. `verl`: its Parquet. "
            "`parquet` and `rows`: the rows as stored."
        ),
    ] = ExportFormat.TRL,
    version: VersionQuery = None,
) -> StreamingResponse:
    """Download the rows of a version as a file.

    The formats of other programs hold only pairs with a winner. A ranking becomes its pairs, and ties are left out. The
    headers count what a format cannot hold.
    """
    reference = dataset.id if version is None else f"{dataset.id}@{version}"
    found = versions.get(session, dataset.owner_id, reference)
    content = rows.content_of(found)
    verify_rows(blobs, content)  # damaged rows are an error response, not a broken file
    key = content.blob_key
    made = export(lambda: blobs.open(key), DatasetKind(dataset.kind), format)
    name = f"{dataset.id}-{found.number}-{format.value}{made.suffix}"
    lost = ", ".join(f"{name}={count}" for name, count in made.not_carried.items())
    headers = {"Content-Disposition": f'attachment; filename="{name}"', LEFT_OUT: str(made.left_out), NOT_CARRIED: lost}
    return StreamingResponse(made.body, media_type=made.media_type, headers=headers)


@router.get("/overlap", responses=documented(*_REFUSALS))
def compare_datasets(
    principal: PrincipalDep,
    session: SessionDep,
    blobs: BlobsDep,
    dataset: Annotated[
        str, Query(description="The dataset whose prompts are searched for: `ds_…`, `ds_…@2` or `ds_…@sha256:…`.")
    ],
    other: Annotated[str, Query(description="The dataset that is searched, named in the same way.")],
) -> Overlap:
    """Return the prompts that two datasets share, equal or nearly equal.

    Evaluation prompts in the training data make the results of a run look better than they are. Both datasets may be of any
    kind that has prompts.
    """
    found: list[models.DatasetVersion] = []
    for name, reference in (("dataset", dataset), ("other", other)):
        try:
            found.append(_with_prompts(versions.usable(session, principal.owner_id, reference)))
        except PlatformError as error:
            error.extras.setdefault("param", name)
            raise
    try:
        compared = overlap.compare(session, blobs, *found)
    except SearchNotReady:
        _index(found)
        raise
    if compared.near is None:
        _index(found)
    sides = [OverlapSide(id=one.dataset_id, version=one.number, rows=rows.content_of(one).rows) for one in found]
    near = None if compared.near is None else SharedPrompts.model_validate(compared.near)
    return Overlap(dataset=sides[0], other=sides[1], exact=SharedPrompts.model_validate(compared.exact), near=near)


def _row(row: ShownRow) -> DatasetRow:
    stored = row.stored
    return DatasetRow(line=stored.line, row_number=stored.number, row=stored.row, split=row.split)


def _with_prompts(version: models.DatasetVersion) -> models.DatasetVersion:
    """Raise InvalidRequest for plain texts, which have no prompts."""
    if version.dataset.kind == DatasetKind.PRETRAINING:
        raise InvalidRequest(f"{version.dataset_id} holds plain texts, which have no prompts to compare.")
    return version


def _index(compared: list[models.DatasetVersion]) -> None:
    """Request an index for rows that have none, or one without near duplicates."""
    for version in compared:
        search.request_again(version.id)
