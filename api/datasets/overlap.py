"""What two datasets have in common."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.datasets.schemas import Overlap, OverlapSide, SharedPrompts
from api.deps import BlobsDep, PrincipalDep, SessionDep
from api.problems import documented
from api.strict_json import StrictRoute
from core.datasets import overlap, rows, search, versions
from core.errors import (
    DatasetBlocked,
    DatasetFailed,
    DatasetNotReady,
    InvalidRequest,
    NotFound,
    NotSignedIn,
    PlatformError,
    SearchNotReady,
)
from core.models import DatasetVersion
from data.kinds import DatasetKind

router = APIRouter(prefix="/datasets", tags=["Datasets"], route_class=StrictRoute)
_REFUSALS = (NotSignedIn, NotFound, DatasetNotReady, SearchNotReady, InvalidRequest, DatasetBlocked, DatasetFailed)


@router.get("/overlap", responses=documented(*_REFUSALS))
def compare_datasets(
    principal: PrincipalDep,
    session: SessionDep,
    blobs: BlobsDep,
    dataset: Annotated[str, Query(description="Whose prompts are looked for: `ds_…`, `ds_…@2` or `ds_…@sha256:…`.")],
    other: Annotated[str, Query(description="In which they are looked for, named in the same way.")],
) -> Overlap:
    """The prompts of one dataset that another holds too, equal or nearly: training data that hold evaluation prompts flatter
    the figures. Both sides may be of any kind that has prompts."""
    found: list[DatasetVersion] = []
    for name, reference in (("dataset", dataset), ("other", other)):
        try:
            found.append(_with_prompts(versions.usable(session, principal.key_id, reference)))
        except PlatformError as error:
            error.extras.setdefault("param", name)
            raise
    try:
        told = overlap.compare(session, blobs, *found)
    except SearchNotReady:
        _index(found)
        raise
    if told.near is None:
        _index(found)
    sides = [OverlapSide(id=one.dataset_id, version=one.number, rows=rows.content_of(one).rows) for one in found]
    near = None if told.near is None else SharedPrompts.model_validate(told.near)
    return Overlap(dataset=sides[0], other=sides[1], exact=SharedPrompts.model_validate(told.exact), near=near)


def _with_prompts(version: DatasetVersion) -> DatasetVersion:
    """Raises InvalidRequest for plain texts: to find none of their prompts would look like an answer."""
    if version.dataset.kind == DatasetKind.PRETRAINING:
        raise InvalidRequest(f"{version.dataset_id} holds plain texts, which have no prompts to compare.")
    return version


def _index(compared: list[DatasetVersion]) -> None:
    """Have the rows indexed that are not, or not with what near duplicates are found by."""
    for version in compared:
        search.request_again(version.id)
