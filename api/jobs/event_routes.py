"""The list of a job's events. `api/live` streams them."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import JobDep, SessionDep
from api.jobs.event_schemas import TYPES, JobEvent, JobEventList
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.run.events import events_after
from core.jobs.run.seeds import asked_index, seeds_of
from trainer.spec.validation_errors import unknown_name

router = APIRouter(prefix="/jobs/{job_id}", tags=["Events"])

MOST = 1000
Seq = Annotated[int, Query(ge=0, le=2**62, description="Only events after this sequence number.")]


def _known_types(names: str) -> list[str]:
    """The types in a list with commas. Raises InvalidRequest for an unknown one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [one for one in wanted if one not in TYPES]
    if unknown:
        errors = [{"pointer": "?types", "detail": unknown_name("type", one, TYPES)} for one in unknown]
        detail = f"`types`: there is no type {unknown[0]!r}. The types are {', '.join(TYPES)}."
        raise InvalidRequest(detail, param="types", errors=errors)
    return wanted


@router.get("/events", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def list_job_events(
    job: JobDep,
    session: SessionDep,
    after: Seq = 0,
    limit: Annotated[int, Query(ge=1, le=MOST, description="Maximum number of items.")] = 100,
    types: Annotated[str, Query(description="Only these types, separated by commas.")] = "",
    step: Annotated[int | None, Query(ge=0, le=2**62, description="Only events of this step of a stage.")] = None,
    seed: Annotated[
        int | None,
        Query(
            ge=0,
            lt=2**63,
            description="Only events of this seed of a job with several, without those of the whole job.",
        ),
    ] = None,
) -> JobEventList:
    """List the events of a job in order."""
    wanted = _known_types(types)
    if seed is not None:
        asked_index(job, seed)
    # The events of a job with one seed name no seed: all are those of its seed.
    only = seed if len(seeds_of(job)) > 1 else None
    rows = events_after(session, job.id, after, limit + 1, wanted, only, step)
    items = [JobEvent.model_validate(row) for row in rows[:limit]]
    return JobEventList.from_items(items, len(rows) > limit, key="seq")
