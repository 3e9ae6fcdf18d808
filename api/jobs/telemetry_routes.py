"""Measurements of the machine while a job runs."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import JobDep, SessionDep
from api.jobs.schemas import MeasurementInfo, Telemetry, TelemetrySeries
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.run.telemetry import MEASUREMENTS, read_telemetry

router = APIRouter(prefix="/jobs/{job_id}", tags=["Telemetry"])


@router.get("/telemetry", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_job_telemetry(
    job: JobDep,
    session: SessionDep,
    attempt: Annotated[int | None, Query(ge=1, le=2**31, description="The attempt. Left out: the newest.")] = None,
    every_attempt: Annotated[
        bool, Query(description="All attempts, one after the other. Not together with `attempt`.")
    ] = False,
) -> Telemetry:
    """Return CPU, memory, disk and GPU measurements as series over time, in at most 1,000 points of each attempt."""
    if every_attempt and attempt is not None:
        detail = "stands for all attempts, so `attempt` names none beside it"
        errors = [{"pointer": "?every_attempt", "detail": detail}]
        raise InvalidRequest(f"`every_attempt` {detail}.", param="every_attempt", errors=errors)
    number = job.attempt if attempt is None else attempt
    rows = read_telemetry(session, job.id, None if every_attempt else number)
    names = sorted({name for row in rows for name in row.values})
    return Telemetry(
        attempt=number,
        attempts=[row.attempt for row in rows],
        at=[row.at for row in rows],
        seconds=[row.seconds for row in rows],
        series=[TelemetrySeries(name=name, values=[row.values.get(name) for row in rows]) for name in names],
        measurements=[MeasurementInfo.model_validate(one) for one in MEASUREMENTS],
    )
