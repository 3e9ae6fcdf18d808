"""The console output of a job, as JSON lines or as plain text."""

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from api.deps import JobDep, SessionDep
from api.jobs.schemas import JobLogLine
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.run import logs
from core.jobs.run.logs import LogLine, LogQuery
from core.models.job_logs import LogSource
from core.models.jobs import TERMINAL

MOST_LINES = 10_000
LONGEST_SEARCH = 200
CURSOR, COMPLETE = "X-Log-Cursor", "X-Log-Complete"
MEDIA_TYPES = {"jsonl": "application/jsonl", "text": "text/plain; charset=utf-8"}
Lines = Annotated[int, Query(ge=1, le=MOST_LINES, description="Maximum number of lines.")]


def _log_query(
    attempt: Annotated[int | None, Query(ge=1, le=2**31, description="Only this attempt.")] = None,
    source: Annotated[
        LogSource | None, Query(description="Only lines of the trainer, or only those of the worker.")
    ] = None,
    rank: Annotated[
        int | None, Query(ge=0, le=2**31, description="Only this process, by its number in a run of several.")
    ] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only lines after this number.")] = 0,
    limit: Lines = 1000,
    tail: Annotated[
        int | None, Query(ge=1, le=MOST_LINES, description="Only the last lines, at most so many. `limit` is ignored.")
    ] = None,
    search: Annotated[
        str, Query(max_length=LONGEST_SEARCH, description="Only lines with this text. Case is ignored.")
    ] = "",
) -> LogQuery:
    return LogQuery(attempt, source, rank, after, limit, tail, search)


LogQueryDep = Annotated[LogQuery, Depends(_log_query)]
router = APIRouter(prefix="/jobs/{job_id}", tags=["Logs"])


@router.get(
    "/logs",
    response_class=Response,
    responses=documented(NotSignedIn, NotFound, InvalidRequest)
    | {
        200: {
            "description": "Lines in the order in which the worker read them.",
            "content": {
                "application/jsonl": {
                    "schema": {"type": "string"},
                    "itemSchema": {"$ref": "#/components/schemas/JobLogLine"},
                },
                "text/plain": {"schema": {"type": "string"}},
            },
            "headers": {
                CURSOR: {
                    "description": "The `after` of the next request. It counts lines that a filter left out, too.",
                    "schema": {"type": "integer"},
                },
                COMPLETE: {
                    "description": "`true` if the job has ended and no line follows the cursor.",
                    "schema": {"type": "boolean"},
                },
            },
        }
    },
)
def get_job_log(
    job: JobDep,
    session: SessionDep,
    wanted: LogQueryDep,
    format: Annotated[
        Literal["jsonl", "text"], Query(description="`jsonl`: one object a line. `text`: the lines themselves.")
    ] = "jsonl",
) -> Response:
    """Return console output of the trainer and lines of the worker about the job, also while the job runs.

    Secrets are masked, and escape codes are removed. A response ends after 4 MiB of lines, or after 16 MiB that a search
    has read. To follow the output, repeat the request with `after` set to `X-Log-Cursor` until `X-Log-Complete` is `true`.
    """
    # Read before the lines: the worker stores the last lines before it ends the job.
    ended = job.status in TERMINAL
    page = logs.read_log(session, job.id, wanted)
    body = _plain(page.lines) if format == "text" else _json_lines(page.lines)
    complete = ended and not page.more
    headers = {CURSOR: str(page.cursor), COMPLETE: str(complete).lower()}
    return Response("".join(body), media_type=MEDIA_TYPES[format], headers=headers)


def _json_lines(lines: list[LogLine]) -> Iterator[str]:
    for line in lines:
        yield _view(line).model_dump_json() + "\n"


def _view(line: LogLine) -> JobLogLine:
    origin = line.origin
    return JobLogLine(
        number=line.number,
        attempt=line.attempt,
        at=line.at,
        source=origin.source,
        machine=origin.machine,
        rank=origin.rank,
        text=line.text,
        dropped_bytes=line.dropped_bytes,
    )


def _plain(lines: list[LogLine]) -> Iterator[str]:
    """The texts. Lines of the worker and of ranks above 0 begin with their origin, so that none is taken for another's."""
    for line in lines:
        if line.dropped_bytes:
            yield f"[{line.dropped_bytes} bytes of output are not stored]\n"
        yield f"{_origin(line)}{line.text}\n"


def _origin(line: LogLine) -> str:
    if line.origin.source is LogSource.WORKER:
        return "[worker] "
    return f"[rank {line.origin.rank}] " if line.origin.rank else ""
