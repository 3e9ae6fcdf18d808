"""Jobs: submit, list, read."""

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import select

from api.deps import After, JobDep, Limit, OrderBy, PrincipalDep, SessionDep, SettingsDep
from api.idempotency import IDEMPOTENT
from api.jobs import views
from api.jobs.schemas import Job, JobList
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.errors import (
    CrossOrigin,
    InvalidRequest,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    NotSignedIn,
    QuotaExceeded,
    TooLarge,
    WrongCheckpoint,
    WrongDatasetKind,
    WrongMediaType,
)
from core.jobs.actors import key_of
from core.jobs.groups import add_to_group, group_of
from core.jobs.submit import submit_job
from core.jobs.waking import wake_for
from core.models.jobs import JobStatus
from core.paging import page
from core.scheduling.policy import Priority, PriorityName
from trainer.spec import JobSpec

router = APIRouter(prefix="/jobs", tags=["Jobs"], route_class=StrictRoute)
_PRIORITY = "Priority class: jobs of a higher class start first. A job that has waited long rises."


@router.post(
    "",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(
        BadRequest,
        NotSignedIn,
        CrossOrigin,
        NotFound,
        TooLarge,
        WrongMediaType,
        InvalidRequest,
        InvalidSpec,
        WrongDatasetKind,
        LimitExceeded,
        WrongCheckpoint,
        QuotaExceeded,
    ),
)
def create_job(
    body: JobSpec,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    priority: Annotated[PriorityName, Query(description=_PRIORITY)] = "normal",
    group: Annotated[str | None, Query(description="Id of the group that the job joins.")] = None,
) -> Job:
    """Submit a job. Only `model` and `data.preferences` are required. Datasets are named by id, models also by a checkpoint's id."""
    into = group_of(session, principal.owner_id, group, lock=True) if group else None
    job = submit_job(session, principal.owner_id, body, settings, key_of(principal), Priority.named(priority))
    if into is not None:
        add_to_group(session, into, job)
    wake_for(session, job, settings.redis_url)
    return views.job_view(session, job)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_jobs(
    principal: PrincipalDep,
    session: SessionDep,
    status: Annotated[list[JobStatus] | None, Query(description="Only jobs in this state (or one of these).")] = None,
    archived: Annotated[bool, Query(description="Archived jobs instead of the others.")] = False,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> JobList:
    """Your jobs, without their specs."""
    put_aside = models.Job.archived_at.is_not(None)
    query = select(models.Job).filter_by(owner_id=principal.owner_id).where(put_aside if archived else ~put_aside)
    if status:
        query = query.where(models.Job.status.in_([one.value for one in status]))
    found = page(session, query, models.Job, after, limit, order)
    return JobList.from_items(views.job_summaries(session, found.items), found.has_more)


@router.get("/{job_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_job(job: JobDep, session: SessionDep) -> Job:
    """One job, with its spec."""
    return views.job_view(session, job)
