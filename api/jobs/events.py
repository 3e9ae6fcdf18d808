"""What a job says: as a list, and as a stream."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.deps import JobDep, SessionDep, SettingsDep
from api.jobs.event_schemas import JobEvent, JobEventList
from api.jobs.stream import Stream
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs import events
from core.models.jobs import TERMINAL

router = APIRouter(prefix="/jobs/{job_id}", tags=["Events"])

# One event of the stream, in the terms of OpenAPI 3.2.
STREAM_ITEM: dict[str, Any] = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/JobEvent"},
        },
    },
}
MOST = 1000
Seq = Annotated[int, Query(ge=0, le=2**62, description="Only events behind this sequence number.")]


@router.get("/events", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_events(
    job: JobDep,
    session: SessionDep,
    after: Seq = 0,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Most items to answer.")] = 100,
    types: Annotated[str, Query(description="Only these types, separated by commas.")] = "",
) -> JobEventList:
    """The job's events in order."""
    wanted = [name for name in types.split(",") if name]
    rows = events.after(session, job.id, after, limit + 1, wanted)
    items = [JobEvent.model_validate(row) for row in rows[:limit]]
    return JobEventList.of(items, len(rows) > limit, key="seq")


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, InvalidRequest)
    | {
        200: {
            "description": "Server-sent events: `id` is the sequence number, `event` the type, `data` a `JobEvent`. "
            "After the job's end `event: done`. Reconnect with `Last-Event-ID` and nothing is lost or repeated.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "itemSchema": STREAM_ITEM}},
        },
        204: {"description": "The job has ended and every event was sent: do not reconnect."},
    },
)
async def stream_job_events(
    request: Request,
    job: JobDep,
    settings: SettingsDep,
    after: Seq = 0,
    last_event_id: Annotated[
        str | None, Header(description="Sent by browsers that reconnect; wins over `after`.")
    ] = None,
) -> Response:
    """The job's events as they happen."""
    # One from beyond the end is of another job, or of a database that was set back: waiting there would tell nothing.
    seen = min(_cursor(last_event_id, after), job.last_seq)
    if job.status in TERMINAL and seen >= job.last_seq:
        return Response(status_code=204)
    stream = Stream(settings, job.id, seen, lambda: request.app.state.closing)
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    return StreamingResponse(stream.body(), media_type="text/event-stream", headers=headers)


def _cursor(last_event_id: str | None, after: int) -> int:
    if not last_event_id:  # some polyfills send an empty one
        return after
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 19):
        raise InvalidRequest("Last-Event-ID is not a sequence number.", param="Last-Event-ID")
    return int(last_event_id)
