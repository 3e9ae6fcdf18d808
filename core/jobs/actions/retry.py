"""Queues a job again, as a new attempt from its last checkpoint: a paused one, or a failed or cancelled one."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core import quotas
from core.errors import NotFound
from core.jobs.checkpoints.checkpoints import release_lost_stages
from core.jobs.checkpoints.damage import refuse_damaged
from core.jobs.groups.groups import bounded_group_of, hold_without_room
from core.jobs.lifecycle.actors import PLATFORM, Actor
from core.jobs.lifecycle.state import Request, check_request, request
from core.jobs.run.events import append_event
from core.jobs.run.seeds import forget_failed
from core.jobs.submission.stored_specs import spec_of
from core.jobs.submission.submit import needed_inputs, pin_checkpoints
from core.models import Checkpoint, Job
from core.scheduling.usage import check_size
from core.settings import Settings
from trainer.events import Message


def resume_job(session: Session, job: Job, actor: Actor, reason: str = "") -> None:
    """Queue a paused job. It stays paused while its group has no room for it. Raises IllegalTransition."""
    group = bounded_group_of(session, job)
    request(session, job, Request.RESUME, actor, reason)
    hold_without_room(session, group, job)


def retry_job(session: Session, job: Job, actor: Actor, settings: Settings, reason: str = "") -> None:
    """Queue a failed or cancelled job, listed again if it was archived. Its group may hold it, as in `resume_job`.

    Raises IllegalTransition, QuotaExceeded, and the errors of `submit_job` for the stored spec. The datasets and checkpoints
    that the spec names may have been deleted since the job ended, so they are looked up and pinned again. The seeds that came
    to an end are kept; one that failed runs again.
    """
    group = bounded_group_of(session, job)
    check_request(session, job, Request.RETRY)
    needed = needed_inputs(session, job.owner_id, spec_of(job), settings)
    quotas.check_open_jobs(session, job.owner_id, settings)
    check_size(quotas.quotas_of(session, job.owner_id, settings), job.slots)
    request(session, job, Request.RETRY, actor, reason)
    forget_failed(session, job)
    job.archived_at = None
    start = _start_of_branch(session, job)
    refuse_damaged(session, settings, start)
    pin_checkpoints(session, job, needed.checkpoints | start)
    _begin_lost_stages_anew(session, job)
    hold_without_room(session, group, job)


def _begin_lost_stages_anew(session: Session, job: Job) -> None:
    """The user retries a job that failed because a stage has no good checkpoint: that stage begins anew."""
    if lost := release_lost_stages(session, job.id):
        text = f"No good checkpoint is left of {', '.join(lost)}, so the retry begins there anew."
        append_event(session, job, Message(text=text, level="warning", actor=PLATFORM.as_json()))


def _start_of_branch(session: Session, job: Job) -> dict[str, Checkpoint]:
    """The checkpoints that a branch starts from and has not replaced by its own. Raises NotFound for one that was deleted."""
    needed: dict[str, Checkpoint] = {}
    own = select(Checkpoint.stage).filter_by(job_id=job.id, best=False, damage=None)
    replaced = set(session.scalars(own))
    for folder, id_ in ((job.parent or {}).get("folders") or {}).items():
        found = session.get(Checkpoint, id_, with_for_update={"read": True, "key_share": True})
        if folder.endswith("-best") and (found is None or found.damage is not None):
            continue
        if found is None:
            detail = f"The checkpoint {id_}, which {job.id} starts from, has been deleted."
            raise NotFound(f"{detail} Clone the job to run every stage again.", param="checkpoint")
        if found.final or folder.endswith("-best") or found.stage not in replaced:
            needed[folder] = found
    return needed
