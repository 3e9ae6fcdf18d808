"""Datasets: upload, list, look into, delete."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy import select

from api.deps import After, BlobsDep, DatasetDep, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.problems import documented
from api.schemas.dataset import Dataset, DatasetList, DatasetRow, DatasetRowList
from api.uploads import UPLOAD_BODY, read_upload
from core import datasets, models
from core.datasets.reading import Limits
from core.datasets.store import Upload
from core.errors import (
    CrossOrigin,
    DatasetInUse,
    InvalidDataset,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    TooLarge,
    WrongMediaType,
)
from core.models.dataset import DatasetKind
from core.pages import page

router = APIRouter(prefix="/datasets", tags=["Datasets"])


@router.post(
    "",
    status_code=201,
    openapi_extra=UPLOAD_BODY,
    responses=documented(NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest, InvalidDataset),
)
def upload_dataset(
    principal: PrincipalDep,
    upload: Annotated[Upload, Depends(read_upload)],
    session: SessionDep,
    blobs: BlobsDep,
    settings: SettingsDep,
) -> Dataset:
    """Upload JSONL. Every row is checked first; if one is bad, nothing is stored and the answer names lines and columns."""
    limits = Limits(line_bytes=settings.max_line_bytes)
    row = datasets.create(session, blobs, principal.key_id, upload, limits, settings.data_dir / "uploads")
    session.refresh(row)
    return Dataset.model_validate(row)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_datasets(
    principal: PrincipalDep,
    session: SessionDep,
    kind: Annotated[DatasetKind | None, Query(description="Only datasets of this kind.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> DatasetList:
    """Your datasets."""
    query = select(models.Dataset).filter_by(owner_id=principal.key_id)
    if kind is not None:
        query = query.filter_by(kind=kind.value)
    found = page(session, query, models.Dataset, after, limit, order)
    return DatasetList.of([Dataset.model_validate(row) for row in found.items], found.has_more)


@router.get("/{dataset_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_dataset(dataset: DatasetDep) -> Dataset:
    """One dataset."""
    return Dataset.model_validate(dataset)


@router.get("/{dataset_id}/rows", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_dataset_rows(
    dataset: DatasetDep,
    blobs: BlobsDep,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only rows behind this number.")] = 0,
    limit: Limit = 20,
) -> DatasetRowList:
    """Its rows in order, in canonical form."""
    rows = [DatasetRow(line=line, row=row) for line, row in datasets.rows(blobs, dataset, after, limit)]
    has_more = bool(rows) and rows[-1].line < dataset.rows
    return DatasetRowList.of(rows, has_more, key="line")


@router.delete(
    "/{dataset_id}",
    status_code=204,
    responses=documented(NotSignedIn, CrossOrigin, NotFound, DatasetInUse, InvalidRequest),
)
def delete_dataset(dataset: DatasetDep, session: SessionDep, blobs: BlobsDep) -> None:
    """Delete it, unless an unfinished job uses it."""
    datasets.delete(session, blobs, dataset)
