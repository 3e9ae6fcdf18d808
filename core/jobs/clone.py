"""Submits a new job with the spec of another one, changed by a patch."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from core.jobs.actors import Actor
from core.jobs.descriptions import copy_description
from core.jobs.stored_specs import patched
from core.jobs.submit import Queueing, submit_job
from core.models import Job
from core.models.jobs import Relation
from core.settings import Settings


def clone_job(session: Session, job: Job, patch: Mapping[str, Any], settings: Settings, actor: Actor) -> Job:
    """Queue a job with the patched spec of `job`. It starts from the beginning.

    Raises InvalidSpec with pointers into the merged spec, and the errors of `submit_job`.
    """
    made = submit_job(
        session, job.owner_id, patched({**job.spec, "name": job.name}, patch), settings, actor, Queueing.of(job)
    )
    copy_description(made, job)
    made.parent = {"job": job.id, "relation": Relation.CLONE.value}
    session.flush()
    return made
