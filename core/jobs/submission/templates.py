"""Job templates: partial specs under a name, from which jobs are submitted with changes."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.access.users import acting_user
from core.errors import InvalidRequest, NameTaken, NotFound, QuotaExceeded
from core.jobs.lifecycle.actors import Actor
from core.jobs.run.events import append_event
from core.jobs.submission.limits import check_partial_limits
from core.jobs.submission.stored_specs import check_partial, patched
from core.jobs.submission.submit import USUAL, Queueing, submit_job
from core.models import Job, JobTemplate
from core.models.base import new_id
from core.settings import Settings, get_settings
from trainer.events import Message
from trainer.spec.nulls import merge_patch

MOST_TEMPLATES = 1000
"""Most templates of one owner."""


def create_template(
    session: Session, owner_id: str, name: str, description: str, spec: Mapping[str, Any]
) -> JobTemplate:
    """Store a template. Raises InvalidSpec, LimitExceeded, NameTaken and QuotaExceeded."""
    _lock(session, owner_id)
    count = session.scalars(select(func.count()).select_from(JobTemplate).filter_by(owner_id=owner_id)).one()
    if count >= MOST_TEMPLATES:
        raise QuotaExceeded(
            f"You have {count} templates. This platform allows {MOST_TEMPLATES}. Delete some of them.",
            limit=MOST_TEMPLATES,
            value=count,
        )
    _check_name(session, owner_id, name)
    made = JobTemplate(
        id=new_id("tpl"), owner_id=owner_id, name=name, description=description, spec=_checked_spec(spec)
    )
    made.created_by = acting_user(session)
    session.add(made)
    session.flush()
    return made


def template_of(session: Session, owner_id: str, template_id: str) -> JobTemplate:
    """The owner's template. Raises NotFound."""
    found = session.scalars(select(JobTemplate).filter_by(id=template_id, owner_id=owner_id)).one_or_none()
    if found is None:
        raise NotFound(f"There is no template {template_id!r}.")
    return found


def change_template(session: Session, template: JobTemplate, patch: Mapping[str, Any]) -> None:
    """Apply a merge patch (RFC 7396) to `name`, `description` and `spec`. Raises InvalidSpec, LimitExceeded and NameTaken.

    Null empties the description or the spec. A name cannot be empty: raises InvalidRequest.
    """
    _lock(session, template.owner_id)
    template_id = template.id
    session.expire(template)
    template = template_of(session, template.owner_id, template_id)
    merged = merge_patch({"name": template.name, "description": template.description, "spec": template.spec}, patch)
    name = merged.get("name")
    if not name:
        detail = "must not be empty"
        raise InvalidRequest(f"`name` {detail}.", param="name", errors=[{"pointer": "#/name", "detail": detail}])
    if name != template.name:
        _check_name(session, template.owner_id, name)
    template.name, template.description = name, merged.get("description", "")
    template.spec = _checked_spec(merged.get("spec") or {})
    template.updated_at = func.clock_timestamp()
    session.flush()
    session.refresh(template)


def job_from_template(
    session: Session,
    template: JobTemplate,
    patch: Mapping[str, Any],
    settings: Settings,
    actor: Actor,
    queueing: Queueing = USUAL,
) -> Job:
    """Queue a job with the patched spec of the template, with an event that names the template.

    Raises InvalidSpec with pointers into the merged spec, and the errors of `submit_job`.
    """
    spec = patched({"name": template.name, **template.spec}, patch)
    made = submit_job(session, template.owner_id, spec, settings, actor, queueing)
    text = f'Submitted from the template "{template.name}" ({template.id}).'
    append_event(session, made, Message(text=text, level="info", actor=actor.as_json()))
    return made


def _checked_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec to store: with a model as an object, so that a patch of one of its fields keeps the others."""
    model = spec.get("model")
    whole = {**spec, "model": {"path": model}} if isinstance(model, str) else dict(spec)
    check_partial(whole)
    check_partial_limits(whole, get_settings())
    return whole


def _check_name(session: Session, owner_id: str, name: str) -> None:
    taken = session.scalars(select(JobTemplate.id).filter_by(owner_id=owner_id, name=name)).one_or_none()
    if taken is not None:
        raise NameTaken(f"{taken} has the name {name!r} already. Choose another name.", param="name")


def _lock(session: Session, owner_id: str) -> None:
    """Serialise the changes of an owner's templates until the commit."""
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"templates {owner_id}", 0))))
