"""The whole platform, for its operators: projects with their use and quotas, and the jobs of all projects."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.deps import After, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.problems import BadRequest, documented
from api.schema import ListOf, Schema, Timestamp
from api.usage import Usage, usage_view
from api.validation import StrictRoute
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    NotAllowed,
    NotFound,
    NotOperator,
    NotSignedIn,
    TooLarge,
    WrongMediaType,
)
from core.models import Job, Membership, Project
from core.models.jobs import JobStatus
from core.paging import page
from core.quotas import Quotas
from core.settings import Settings

LARGEST = 2**53
"""Largest limit: JavaScript has no larger exact integer."""
Amount = Annotated[int, Field(ge=0, le=LARGEST)]


class NewQuotas(Schema):
    """A project's own limits. A limit that is left out is the platform's default; null is no limit."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=False)

    open_jobs: Amount | None = None
    """Unfinished jobs."""
    running_jobs: Amount | None = None
    """Jobs that run at once."""
    gpus: Amount | None = None
    """GPUs that running jobs take at once."""
    gpu_hours: Amount | None = None
    """GPU-hours in a calendar month."""
    stored_bytes: Amount | None = None
    """Bytes of uploads, rows of datasets and checkpoints."""
    when_exceeded: Literal["queue", "refuse"] = "queue"
    """`queue`: a job beyond the running jobs, GPUs or GPU-hours waits. `refuse`: its submission is refused."""


class PlatformProject(Schema):
    """A project with its use of the platform."""

    object: Literal["platform.project"] = "platform.project"
    """Always `platform.project`."""
    id: str
    """The project's id."""
    name: str
    """The project's name."""
    created_at: Timestamp
    """When it was made."""
    members: int
    """Number of its members."""
    own_limits: list[str]
    """The names of the limits that differ from the platform's defaults, or were set for it."""
    usage: Usage
    """Its limits, the defaults included, and its use."""


class PlatformProjectList(ListOf[PlatformProject]):
    """Everything that shares the workers."""


class ProjectRef(Schema):
    """The holder of a job."""

    id: str
    """The project's id."""
    name: str
    """The project's name."""


class PlatformJob(Schema):
    """A job of any project, without its spec and its results."""

    object: Literal["platform.job"] = "platform.job"
    """Always `platform.job`."""
    id: str
    """The job's id."""
    project: ProjectRef
    """The project that it belongs to."""
    status: JobStatus
    """The job's state."""
    priority: int
    """Its priority in the queue."""
    slots: int
    """GPUs that it takes, or processes on a worker without a GPU."""
    worker_id: str | None
    """The worker that holds it; null if none does."""
    gpu_hours: float
    """GPU-hours of its attempts that have ended. A process on a worker without a GPU counts as one GPU."""
    created_at: Timestamp
    """When it was submitted."""
    queued_at: Timestamp
    """When it entered the queue for the last time."""
    finished_at: Timestamp | None
    """When it ended; null if it has not."""


class PlatformJobList(ListOf[PlatformJob]):
    """Jobs of all projects."""


router = APIRouter(prefix="/admin", tags=["Platform"], route_class=StrictRoute)
_READS = (NotSignedIn, NotAllowed, NotOperator, InvalidRequest)
_WRITES = (
    NotSignedIn,
    CrossOrigin,
    NotAllowed,
    NotOperator,
    InvalidRequest,
    BadRequest,
    NotFound,
    TooLarge,
    WrongMediaType,
)


@router.get("/projects", responses=documented(*_READS))
def list_projects(
    _: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> PlatformProjectList:
    """List all projects with their use and their limits. Needs an operator's key."""
    found = page(session, select(Project), Project, after, limit, order)
    return PlatformProjectList.from_items([_project(session, row, settings) for row in found.items], found.has_more)


@router.put("/projects/{project_id}/quotas", responses=documented(*_WRITES))
def set_project_quotas(
    project_id: str, body: NewQuotas, _: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> PlatformProject:
    """Replace a project's own limits. Running jobs go on; jobs that waited for a limit are released within seconds.

    The audit log of that project has the change. Needs an operator's key.
    """
    row = session.get(Project, project_id, with_for_update={"key_share": True})
    if row is None:
        raise NotFound(f"There is no project {project_id!r}.")
    row.quotas = Quotas.model_validate(body.model_dump(exclude_unset=True)).model_dump(exclude_unset=True)
    session.flush()
    return _project(session, row, settings)


@router.get("/jobs", responses=documented(*_READS))
def list_platform_jobs(
    _: PrincipalDep,
    session: SessionDep,
    status: Annotated[list[JobStatus] | None, Query(description="Only jobs in one of these states.")] = None,
    project: Annotated[str | None, Query(description="Only jobs of the project with this id.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> PlatformJobList:
    """List the jobs of all projects, without what they are made of. Needs an operator's key."""
    query = select(Job)
    if status:
        query = query.where(Job.status.in_(status))
    if project is not None:
        query = query.where(Job.owner_id == project)
    found = page(session, query, Job, after, limit, order)
    named = select(Project.id, Project.name).where(Project.id.in_({row.owner_id for row in found.items}))
    names = {row.id: row.name for row in session.execute(named)}
    return PlatformJobList.from_items([_job(row, names[row.owner_id]) for row in found.items], found.has_more)


def _project(session: Session, row: Project, settings: Settings) -> PlatformProject:
    members = select(func.count()).select_from(Membership).where(Membership.project_id == row.id)
    return PlatformProject(
        id=row.id,
        name=row.name,
        created_at=row.created_at,
        members=session.scalars(members).one(),
        own_limits=sorted(row.quotas),
        usage=usage_view(session, row.id, settings),
    )


def _job(row: Job, project_name: str) -> PlatformJob:
    same = ("id", "status", "priority", "slots", "worker_id", "created_at", "queued_at", "finished_at")
    fields: dict[str, str | int | datetime | None] = {name: getattr(row, name) for name in same}
    return PlatformJob.model_validate(
        fields | {"project": ProjectRef(id=row.owner_id, name=project_name), "gpu_hours": row.gpu_seconds / 3600}
    )
