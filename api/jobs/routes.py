"""Jobs: submit, list, read, describe."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import select

from api.deps import (
    After,
    ExternalId,
    Force,
    JobDep,
    Limit,
    PrincipalDep,
    QueueingDep,
    SessionDep,
    SettingsDep,
)
from api.etags import ETAG, IfMatch, set_etag
from api.idempotency import IDEMPOTENT
from api.jobs import views
from api.jobs.list_requests import ListLook, invalid, job_filter, job_order, list_look
from api.jobs.request_schemas import ChangeJob
from api.jobs.schemas import Job, JobBatch, JobList, JobTag, JobTagList
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core import models
from core.errors import (
    BlockedByValidation,
    CheckpointDamaged,
    CrossOrigin,
    DatasetDamaged,
    ExternalIdTaken,
    InvalidRequest,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    NotSignedIn,
    PreconditionFailed,
    QuotaExceeded,
    TooLarge,
    WrongCheckpoint,
    WrongDatasetKind,
    WrongMediaType,
)
from core.external_ids import refuse_taken, set_external_id
from core.jobs.groups.groups import add_to_group, group_of
from core.jobs.lifecycle.actors import key_of
from core.jobs.lifecycle.descriptions import change_description
from core.jobs.overview import lineage, listing
from core.jobs.overview.folding import folded_groups
from core.jobs.overview.lineage import JobLineage
from core.jobs.overview.listing import JobFilter
from core.jobs.overview.sorting import JobOrder
from core.jobs.queue.waking import wake_for
from core.jobs.submission import validations
from core.jobs.submission.submit import submit_job
from data.parse import bad_text
from trainer.spec import JobSpec

router = APIRouter(prefix="/jobs", tags=["Jobs"], route_class=StrictRoute)
MOST_IN_BATCH = 100


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
        CheckpointDamaged,
        DatasetDamaged,
        QuotaExceeded,
        BlockedByValidation,
        ExternalIdTaken,
    ),
)
def create_job(
    body: JobSpec,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    queueing: QueueingDep,
    group: Annotated[str | None, Query(description="Id of the group that the job joins.")] = None,
    force: Force = False,
    external_id: ExternalId = None,
) -> Job:
    """Submit a job. Only `model` and `data.preferences` are required. Datasets are named by id, models also by a checkpoint's id.

    `POST /v1/jobs/validate` checks a job first. Without a validation, the run begins with the same checks.
    """
    refuse_taken(session, models.Job, principal.owner_id, external_id)
    into = group_of(session, principal.owner_id, group, lock=True) if group else None
    job = submit_job(session, principal.owner_id, body, settings, key_of(principal), queueing)
    set_external_id(session, job, external_id)
    if not force:
        validations.refuse_blocked(session, principal.owner_id, job.spec)
    if into is not None:
        add_to_group(session, into, job)
    wake_for(session, job, settings.redis_url)
    return views.job_view(session, job)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_jobs(
    principal: PrincipalDep,
    session: SessionDep,
    wanted: Annotated[JobFilter, Depends(job_filter)],
    order: Annotated[JobOrder, Depends(job_order)],
    look: Annotated[ListLook, Depends(list_look)],
    limit: Limit = 20,
    after: After = None,
) -> JobList:
    """Your jobs, without their specs. All filters must hold."""
    found = listing.list_jobs(session, principal.owner_id, wanted, after, limit, order, fold=look.fold)
    folded = folded_groups(session, principal.owner_id, wanted, found.items) if look.fold else {}
    return JobList.from_items(views.job_summaries(session, found.items, look.show, folded), found.has_more)


@router.get("/tags", responses=documented(NotSignedIn, InvalidRequest))
def list_job_tags(principal: PrincipalDep, session: SessionDep) -> JobTagList:
    """The tags of your jobs, most frequent first. At most 1,000 are listed; then `has_more` is true."""
    counts, has_more = listing.tag_counts(session, principal.owner_id)
    return JobTagList.from_items([JobTag(tag=tag, jobs=jobs) for tag, jobs in counts], has_more, key="tag")


@router.get("/batch", responses=documented(NotSignedIn, InvalidRequest))
def get_jobs(
    principal: PrincipalDep,
    session: SessionDep,
    ids: Annotated[str, Query(min_length=1, description=f"Ids of at most {MOST_IN_BATCH} jobs, separated by commas.")],
) -> JobBatch:
    """Several jobs with their specs, in the order of `ids`. `missing` names the ids of which there is no job."""
    if bad_text(ids):
        raise invalid("ids", "holds a NUL character or half of a surrogate pair")
    wanted = list(dict.fromkeys(one for one in ids.split(",") if one))
    if not 0 < len(wanted) <= MOST_IN_BATCH:
        raise invalid("ids", f"must name 1 to {MOST_IN_BATCH} jobs")
    query = select(models.Job).where(models.Job.owner_id == principal.owner_id, models.Job.id.in_(wanted))
    found = {row.id: row for row in session.scalars(query)}
    jobs = views.job_views(session, [found[one] for one in wanted if one in found])
    return JobBatch(data=jobs, missing=[one for one in wanted if one not in found])


@router.get("/{job_id}", responses=ETAG | documented(NotSignedIn, NotFound, InvalidRequest))
def get_job(job: JobDep, session: SessionDep, response: Response) -> Job:
    """One job, with its spec."""
    return _tagged(response, views.job_view(session, job))


@router.get("/{job_id}/lineage", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_job_lineage(job: JobDep, session: SessionDep) -> JobLineage:
    """The jobs from which this one descends, the metrics from before its first step, and the jobs made from it."""
    return lineage.lineage(session, job)


def _tagged(response: Response, job: Job) -> Job:
    set_etag(response, job.etag)
    return job


@router.patch(
    "/{job_id}",
    responses=ETAG
    | documented(
        BadRequest, NotSignedIn, CrossOrigin, NotFound, PreconditionFailed, TooLarge, WrongMediaType, InvalidRequest
    ),
)
def change_job(job: JobDep, body: ChangeJob, session: SessionDep, condition: IfMatch, response: Response) -> Job:
    """Change the name, tags, notes or metadata of a job, or whether it is `preemptible`, in any state. No result depends on them."""
    condition.check(session, job)
    change_description(session, job, body.model_dump(exclude_unset=True))
    session.flush()
    return _tagged(response, views.job_view(session, job))
