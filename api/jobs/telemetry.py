"""Measurements of the machine while a job runs."""

from typing import Annotated

from fastapi import APIRouter, Query

from api.deps import JobDep, SessionDep
from api.jobs.schemas import MeasurementInfo, Telemetry, TelemetrySeries
from api.problems import documented
from core.errors import InvalidRequest, NotFound, NotSignedIn
from core.jobs.telemetry import MEASUREMENTS, read_telemetry

router = APIRouter(prefix="/jobs/{job_id}", tags=["Telemetry"])


@router.get("/telemetry", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_job_telemetry(
    job: JobDep,
    session: SessionDep,
    attempt: Annotated[int | None, Query(ge=1, le=2**31, description="The attempt. Left out: the newest.")] = None,
) -> Telemetry:
    """Return CPU, memory, disk and GPU measurements of an attempt as series over time, in at most 1,000 points."""
    number = job.attempt if attempt is None else attempt
    rows = read_telemetry(session, job.id, number)
    names = sorted({name for row in rows for name in row.values})
    return Telemetry(
        attempt=number,
        at=[row.at for row in rows],
        seconds=[row.seconds for row in rows],
        series=[TelemetrySeries(name=name, values=[row.values.get(name) for row in rows]) for name in names],
        measurements=[MeasurementInfo.model_validate(one) for one in MEASUREMENTS],
    )
