"""Job templates: partial specs under a name, and the jobs that are submitted from them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import select

from api.deps import After, ExternalId, Force, Limit, OrderBy, PrincipalDep, QueueingDep, SessionDep, SettingsDep
from api.etags import ETAG, IfMatch, etag_of, set_etag
from api.idempotency import IDEMPOTENT
from api.jobs.schemas import Job
from api.jobs.views import job_view
from api.problems import BadRequest, documented
from api.templates.schemas import ChangeTemplate, JobFromTemplate, NewTemplate, Template, TemplateList
from api.validation import StrictRoute
from core import models
from core.errors import (
    BlockedByValidation,
    CrossOrigin,
    ExternalIdTaken,
    InvalidRequest,
    InvalidSpec,
    LimitExceeded,
    NameTaken,
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
from core.jobs.queue.waking import wake_for
from core.jobs.submission import templates, validations
from core.models import JobTemplate
from core.paging import page

router = APIRouter(prefix="/templates", tags=["Templates"], route_class=StrictRoute)
WRITES = (BadRequest, NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest)
SUBMISSION = (InvalidSpec, WrongDatasetKind, LimitExceeded, WrongCheckpoint, QuotaExceeded, BlockedByValidation)


def _template(template_id: str, principal: PrincipalDep, session: SessionDep) -> JobTemplate:
    return templates.template_of(session, principal.owner_id, template_id)


TemplateDep = Annotated[JobTemplate, Depends(_template)]


@router.post(
    "",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(*WRITES, InvalidSpec, LimitExceeded, NameTaken, QuotaExceeded),
)
def create_template(body: NewTemplate, principal: PrincipalDep, session: SessionDep) -> Template:
    """Store a partial spec under a name. Its fields are checked, but none is required, and no dataset is looked up.

    Rules between several sections are checked once the spec names a model and a dataset.
    """
    made = templates.create_template(session, principal.owner_id, body.name, body.description, body.spec)
    return _view(made)


@router.get("", responses=documented(NotSignedIn, InvalidRequest))
def list_templates(
    principal: PrincipalDep,
    session: SessionDep,
    name: Annotated[str | None, Query(description="Only the template with this name.")] = None,
    limit: Limit = 20,
    after: After = None,
    order: OrderBy = "desc",
) -> TemplateList:
    """Your templates."""
    query = select(JobTemplate).filter_by(owner_id=principal.owner_id)
    if name is not None:
        query = query.filter_by(name=name)
    found = page(session, query, JobTemplate, after, limit, order)
    return TemplateList.from_items([_view(row) for row in found.items], found.has_more)


@router.get("/{template_id}", responses=ETAG | documented(NotSignedIn, NotFound, InvalidRequest))
def get_template(template: TemplateDep, response: Response) -> Template:
    """One template."""
    return _tagged(response, _view(template))


@router.patch(
    "/{template_id}",
    responses=ETAG | documented(*WRITES, NotFound, PreconditionFailed, InvalidSpec, LimitExceeded, NameTaken),
)
def change_template(
    template: TemplateDep, body: ChangeTemplate, session: SessionDep, condition: IfMatch, response: Response
) -> Template:
    """Change the name, the description or fields of the spec. Jobs that were submitted from it stay as they are."""
    condition.check(session, template)
    templates.change_template(session, template, body.model_dump(exclude_unset=True))
    return _tagged(response, _view(template))


@router.delete(
    "/{template_id}", status_code=204, responses=documented(NotSignedIn, CrossOrigin, NotFound, PreconditionFailed)
)
def delete_template(template: TemplateDep, session: SessionDep, condition: IfMatch) -> None:
    """Jobs that were submitted from the template stay."""
    condition.check(session, template)
    session.delete(template)


def _view(row: JobTemplate) -> Template:
    stored = {name: getattr(row, name) for name in Template.model_fields if name not in ("object", "etag")}
    return Template.model_validate(stored | {"etag": etag_of(row)})


def _tagged(response: Response, template: Template) -> Template:
    set_etag(response, template.etag)
    return template


@router.post(
    "/{template_id}/jobs",
    status_code=201,
    dependencies=IDEMPOTENT,
    responses=documented(*WRITES, NotFound, *SUBMISSION, ExternalIdTaken),
)
def create_job_from_template(  # noqa: PLR0913  # one for each option
    template: TemplateDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    queueing: QueueingDep,
    body: JobFromTemplate | None = None,
    group: Annotated[str | None, Query(description="Id of the group that the job joins.")] = None,
    force: Force = False,
    external_id: ExternalId = None,
) -> Job:
    """Submit a job with the spec of the template, changed by a merge patch. Errors point into the merged spec."""
    refuse_taken(session, models.Job, principal.owner_id, external_id)
    into = group_of(session, principal.owner_id, group, lock=True) if group else None
    patch = body.patch if body else {}
    job = templates.job_from_template(session, template, patch, settings, key_of(principal), queueing)
    set_external_id(session, job, external_id)
    if not force:
        validations.refuse_blocked(session, principal.owner_id, job.spec)
    if into is not None:
        add_to_group(session, into, job)
    wake_for(session, job, settings.redis_url)
    return job_view(session, job)
