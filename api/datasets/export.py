"""A dataset as a file that other programs read."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from api.deps import BlobsDep, DatasetDep, SessionDep
from api.problems import documented
from core.datasets import rows, versions
from core.errors import DatasetFailed, DatasetNotReady, InvalidRequest, NotFound, NotSignedIn
from data.export import ExportFormat, export
from data.kinds import DatasetKind

router = APIRouter(prefix="/datasets", tags=["Datasets"])
LEFT_OUT = "X-Proximal-Left-Out"


@router.get(
    "/{dataset_id}/export",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, DatasetNotReady, InvalidRequest, DatasetFailed)
    | {
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                LEFT_OUT: {
                    "description": "Rows that have no place in the format: ties and pairs that nobody has compared.",
                    "schema": {"type": "integer"},
                }
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
        Query(description="`trl` or `openai`: their JSON Lines. `parquet`, `rows`: the rows as they are stored."),
    ] = ExportFormat.TRL,
    version: Annotated[
        int | None, Query(ge=1, le=999_999_999, description="Which version. Left out: the newest.")
    ] = None,
) -> StreamingResponse:
    """A version's rows as a file, sent as it is made.

    TRL's and OpenAI's formats know pairs with a winner only: of a ranking they get its pairs, of ties nothing.
    """
    reference = dataset.id if version is None else f"{dataset.id}@{version}"
    found = versions.get(session, dataset.owner_id, reference)
    key = rows.content_of(found).blob_key
    blobs.open(key).close()  # what is missing is told before the first byte
    made = export(lambda: blobs.open(key), DatasetKind(dataset.kind), format)
    name = f"{dataset.id}-{found.number}-{format.value}{made.suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', LEFT_OUT: str(made.left_out)}
    return StreamingResponse(made.body, media_type=made.media_type, headers=headers)
