"""Queues a failed or cancelled job again, as a new attempt from its last checkpoint."""

from sqlalchemy.orm import Session

from core import quotas
from core.jobs.actors import Actor
from core.jobs.state import Request, check_request, request
from core.jobs.stored_specs import spec_of
from core.jobs.submit import needed_inputs, pin_checkpoints
from core.models import Job
from core.settings import Settings


def retry_job(session: Session, job: Job, actor: Actor, settings: Settings, reason: str = "") -> None:
    """Queue the job again. Raises IllegalTransition, QuotaExceeded, and the errors of `submit_job` for the stored spec.

    The datasets and checkpoints that the spec names may have been deleted since the job ended, so they are looked up and
    pinned again.
    """
    check_request(session, job, Request.RETRY)
    needed = needed_inputs(session, job.owner_id, spec_of(job), settings)
    quotas.check_open_jobs(session, job.owner_id, settings)
    request(session, job, Request.RETRY, actor, reason)
    pin_checkpoints(session, job, needed.checkpoints)
