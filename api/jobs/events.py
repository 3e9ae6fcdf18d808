"""The events of a job, as a list and as a stream of server-sent events."""

import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from api.deps import JobDep, SessionDep, SettingsDep
from api.jobs.event_schemas import JobEvent, JobEventList
from api.problems import DATABASE_AWAY, documented
from core.db import session_scope
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.events import events_after
from core.models import Job
from core.models.jobs import TERMINAL
from core.settings import Settings

BATCH = 200
KEEP_ALIVE_SECONDS = 15.0
RETRY_MS = 2000
log = logging.getLogger(__name__)


class Stream:
    """The events of one job as server-sent events, read from the table by a cursor.

    `seen` is the sequence number of the last event that the client has. `closing` returns whether the server is about to stop.
    The stream holds no database connection between two reads. The cursor is its only state, so any process can continue it.
    """

    def __init__(self, settings: Settings, job_id: str, seen: int, closing: Callable[[], bool]) -> None:
        self._settings, self._job_id, self._seen, self._closing = settings, job_id, seen, closing

    async def body(self) -> AsyncIterator[str]:
        """Yield events until the job ends, the connection reaches its maximum age, or the server stops."""
        began = sent_at = time.monotonic()
        yield f"retry: {RETRY_MS}\n\n"
        while not self._closing() and time.monotonic() - began < self._settings.stream_seconds:
            try:
                news, ended = await run_in_threadpool(self._read)
            except DATABASE_AWAY as error:
                # The response has begun, so it cannot be a 503. The client reconnects and gets the error then.
                log.warning("the stream of %s ends early, the database does not respond: %s", self._job_id, error)
                return
            for event in news:
                self._seen = event.seq
                yield f"id: {event.seq}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
            if ended:
                yield "event: done\ndata: {}\n\n"
                return
            now = time.monotonic()
            if news:
                sent_at = now
            elif now - sent_at >= KEEP_ALIVE_SECONDS:
                sent_at = now
                yield ": keep-alive\n\n"
            if len(news) < BATCH:
                await anyio.sleep(self._settings.stream_poll_seconds)

    def _read(self) -> tuple[list[JobEvent], bool]:
        """New events, and whether they are the last of an ended job."""
        with session_scope(self._settings.database_url) as session:
            rows = events_after(session, self._job_id, self._seen, BATCH)
            job = session.get(Job, self._job_id)
        if job is None:
            return [], True
        last = rows[-1].seq if rows else self._seen
        return [JobEvent.model_validate(row) for row in rows], job.status in TERMINAL and last >= job.last_seq


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
Seq = Annotated[int, Query(ge=0, le=2**62, description="Only events after this sequence number.")]


@router.get("/events", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_events(
    job: JobDep,
    session: SessionDep,
    after: Seq = 0,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Maximum number of items.")] = 100,
    types: Annotated[str, Query(description="Only these types, separated by commas.")] = "",
) -> JobEventList:
    """List the events of a job in order."""
    wanted = [name for name in types.split(",") if name]
    rows = events_after(session, job.id, after, limit + 1, wanted)
    items = [JobEvent.model_validate(row) for row in rows[:limit]]
    return JobEventList.from_items(items, len(rows) > limit, key="seq")


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses=documented(NotSignedIn, NotFound, InvalidRequest)
    | {
        200: {
            "description": "Server-sent events: `id` is the sequence number, `event` the type, `data` a `JobEvent`. "
            "`event: done` follows the last event. A reconnection with `Last-Event-ID` neither loses nor repeats events.",
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
        str | None, Header(description="Sent by browsers that reconnect. It takes precedence over `after`.")
    ] = None,
) -> Response:
    """Stream the events of a job as they happen."""
    # A cursor beyond the end belongs to another job or to a restored database. Waiting there would return no events.
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
