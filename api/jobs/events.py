"""The list of a job's events. `api/live` streams them."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import JobDep, SessionDep
from api.jobs.event_schemas import JobEvent, JobEventList
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.events import events_after

router = APIRouter(prefix="/jobs/{job_id}", tags=["Events"])

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
