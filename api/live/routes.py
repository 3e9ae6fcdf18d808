"""The event streams: of one job, and of several jobs over one connection."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import select

from api.deps import JobDep, PrincipalDep, SessionDep, SettingsDep
from api.jobs.event_routes import Seq
from api.live.hub import Hub
from api.live.stream import DONE, EventStreamResponse, Stream
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn, TooManyStreams
from core.models import Job
from core.models.jobs import TERMINAL


def _hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


HubDep = Annotated[Hub, Depends(_hub)]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="Sent by browsers that reconnect. It takes precedence over the query."),
]
router = APIRouter(tags=["Events"])
_CURSORS = "Ids of jobs with cursors, as `job_a:12,job_b`. Without a cursor: from 0. `job_a:12:done`: `done` was received, too."


@dataclass(frozen=True)
class Cursor:
    """The number of the last event that a client has received, and whether it has received `done`."""

    seq: int
    done: bool = False


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a text that holds JSON."""
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


def _documented(description: str, nothing_left: str) -> dict[int | str, dict[str, Any]]:
    """The responses of a stream. `itemSchema` (OpenAPI 3.2) describes one message."""
    event = {"event": {"type": "string"}, "data": _json({"$ref": "#/components/schemas/JobEvent"})}
    ended = {"type": "object", "properties": {"job_id": {"type": "string"}}}
    done = {"event": {"const": "done"}, "data": _json(ended)}
    messages = [
        {"type": "object", "required": ["event", "data"], "properties": {"id": {"type": "string"}, **one}}
        for one in (event, done)
    ]
    content = {"text/event-stream": {"schema": {"type": "string"}, "itemSchema": {"anyOf": messages}}}
    responses: dict[int | str, dict[str, Any]] = {
        200: {"description": description, "content": content},
        204: {"description": f"{nothing_left} Do not connect again."},
    }
    return documented(NotSignedIn, NotFound, InvalidRequest, TooManyStreams) | responses


@router.get(
    "/jobs/{job_id}/stream",
    response_class=StreamingResponse,
    responses=_documented(
        "Server-sent events: `id` is the sequence number, `event` the type, `data` a `JobEvent`. `event: done` follows the "
        "last event. A reconnection with `Last-Event-ID` neither loses nor repeats events.",
        "The job has ended and every event was sent.",
    ),
)
async def stream_job_events(
    job: JobDep,
    principal: PrincipalDep,
    hub: HubDep,
    settings: SettingsDep,
    after: Seq = 0,
    last_event_id: LastEventId = None,
) -> Response:
    """Stream the events of a job as they happen."""
    cursor = _number(last_event_id, "Last-Event-ID") if last_event_id else after  # some polyfills send an empty one
    stream = Stream(principal, _clamped([job], {job.id: cursor}), settings.stream_seconds)
    return _response(hub, stream, [job])


def _requested(
    jobs: Annotated[str, Query(description=_CURSORS)],
    settings: SettingsDep,
    last_event_id: LastEventId = None,
) -> dict[str, Cursor]:
    """The cursor of each requested job. Cursors of other jobs in `Last-Event-ID` are ignored."""
    cursors = _cursors(jobs, "jobs")
    if len(cursors) > settings.stream_jobs:
        detail = (
            f"`jobs` has {len(cursors)} jobs. A stream may have at most {settings.stream_jobs}. Open several streams."
        )
        raise InvalidRequest(detail, param="jobs")
    last = _cursors(last_event_id, "Last-Event-ID") if last_event_id else {}
    return cursors | {job_id: cursor for job_id, cursor in last.items() if job_id in cursors}


RequestedDep = Annotated[dict[str, Cursor], Depends(_requested)]


def _jobs(requested: RequestedDep, principal: PrincipalDep, session: SessionDep) -> list[Job]:
    """The caller's jobs. Raises NotFound with the id of the first one that does not exist or belongs to another owner."""
    query = select(Job).where(Job.id.in_(requested), Job.owner_id == principal.owner_id)
    found = {job.id: job for job in session.scalars(query)}
    for job_id in requested:
        if job_id not in found:
            raise NotFound(f"There is no job {job_id!r}.", param="jobs")
    return list(found.values())


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses=_documented(
        "Server-sent events of all jobs: `event` is the type, `data` a `JobEvent` with its `job_id`. `id` contains the "
        "cursor of every job and has the form of `jobs`. `event: done` follows the last event of each job, with its "
        "`job_id` in `data`. A reconnection with `Last-Event-ID` neither loses nor repeats messages.",
        "All jobs have ended and every event was sent.",
    ),
)
async def stream_events(
    requested: RequestedDep,
    jobs: Annotated[list[Job], Depends(_jobs)],
    principal: PrincipalDep,
    hub: HubDep,
    settings: SettingsDep,
) -> Response:
    """Stream the events of several jobs over one connection. A cursor beyond a job's last event selects new events only."""
    cursors = _clamped(jobs, {job_id: cursor.seq for job_id, cursor in requested.items()})
    done = [job.id for job in jobs if requested[job.id].done and _has_all(job, cursors[job.id])]
    return _response(hub, Stream(principal, cursors, settings.stream_seconds, several=True, done=done), jobs)


def _clamped(jobs: list[Job], cursors: dict[str, int]) -> dict[str, int]:
    """Cursors that are at most the end, in their order. One beyond it would wait for events that may never come, as after a restore."""
    ends = {job.id: job.last_seq for job in jobs}
    return {job_id: min(cursor, ends[job_id]) for job_id, cursor in cursors.items()}


def _response(hub: Hub, stream: Stream, jobs: list[Job]) -> Response:
    if all(_has_all(job, stream.cursors[job.id]) for job in jobs):
        return Response(status_code=204)
    return EventStreamResponse(hub, stream, {job.id: job.last_seq for job in jobs})


def _has_all(job: Job, seq: int) -> bool:
    """Whether the job has ended with event `seq`."""
    return job.status in TERMINAL and seq >= job.last_seq


def _cursors(text: str, param: str) -> dict[str, Cursor]:
    """The cursor of each job in `job_a:12,job_b`."""
    cursors: dict[str, Cursor] = {}
    for item in text.split(","):
        job_id, colon, cursor = item.partition(":")
        if not job_id or job_id in cursors:
            raise InvalidRequest(f"{param} must list different jobs, as job_a:12,job_b.", param=param)
        seq = cursor.removesuffix(DONE)
        cursors[job_id] = Cursor(_number(seq, param) if colon else 0, seq != cursor)
    return cursors


def _number(text: str, param: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidRequest(f"{param} has a cursor that is not a sequence number.", param=param)
    return int(text)
