"""The caller's quotas and use."""

from typing import Literal

from fastapi import APIRouter
from sqlalchemy.orm import Session

from api.deps import PrincipalDep, SessionDep, SettingsDep
from api.problems import documented
from api.schema import Schema, Timestamp
from core.errors import NotSignedIn
from core.scheduling.usage import usage_of
from core.settings import Settings


class UsagePeriod(Schema):
    """The calendar month in UTC that `gpu_hours` counts."""

    start: Timestamp
    """Its first moment."""
    end: Timestamp
    """The first moment of the next month."""


class UsageLimits(Schema):
    """The limits of the caller. Null is no limit."""

    open_jobs: int | None
    """Unfinished jobs. A submission beyond it is refused."""
    running_jobs: int | None
    """Jobs that run at once."""
    gpus: int | None
    """GPUs that running jobs take at once. A process on a worker without a GPU counts as one."""
    gpu_hours: int | None
    """GPU-hours in a calendar month."""
    stored_bytes: int | None
    """Bytes of uploads, rows of datasets and checkpoints."""
    when_exceeded: Literal["queue", "refuse"]
    """`queue`: a job beyond the running jobs, GPUs or GPU-hours waits. `refuse`: its submission is refused."""


class Used(Schema):
    """The use of the caller, under the names of the limits."""

    open_jobs: int
    """Unfinished jobs."""
    running_jobs: int
    """Jobs that workers hold."""
    gpus: int
    """GPUs that these jobs take."""
    gpu_hours: float
    """GPU-hours of the period, with those of running jobs until now."""
    stored_bytes: int
    """Bytes of uploads, rows of datasets and checkpoints."""
    recent_gpu_hours: float
    """GPU-hours that the fair share compares: earlier hours count less, by a half-life."""


class Usage(Schema):
    """The caller's limits and use."""

    object: Literal["usage"] = "usage"
    """Always `usage`."""
    at: Timestamp
    """The time of the figures."""
    period: UsagePeriod
    """The month of the GPU-hours."""
    limits: UsageLimits
    """The limits, each null where there is none."""
    used: Used
    """The present figures."""


router = APIRouter(tags=["Platform"])


@router.get("/usage", responses=documented(NotSignedIn))
def get_usage(principal: PrincipalDep, session: SessionDep, settings: SettingsDep) -> Usage:
    """Your limits and your use of the platform."""
    return usage_view(session, principal.owner_id, settings)


def usage_view(session: Session, project_id: str, settings: Settings) -> Usage:
    """The limits and the use of a project."""
    found = usage_of(session, project_id, settings)
    figures = {name: getattr(found, name) for name in Used.model_fields if name != "recent_gpu_hours"}
    return Usage(
        at=found.at,
        period=UsagePeriod(start=found.period_start, end=found.period_end),
        limits=UsageLimits.model_validate(found.quotas.model_dump()),
        used=Used(**figures, recent_gpu_hours=found.decayed_gpu_hours),
    )
