"""Requests that change the state of a job, or make another job from it."""

from fastapi import APIRouter

from api.deps import BlobsDep, Force, JobDep, PrincipalDep, SessionDep, SettingsDep
from api.etags import IfMatch
from api.idempotency import IDEMPOTENT
from api.jobs import views
from api.jobs.request_schemas import BranchJob, CloneJob, ExtendJob, TransitionReason
from api.jobs.schemas import Job
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core.errors import (
    BlockedByValidation,
    CheckpointDamaged,
    CrossOrigin,
    DatasetDamaged,
    IllegalTransition,
    InvalidRequest,
    InvalidSpec,
    JobInUse,
    JobNotEnded,
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
from core.jobs.actions import branch, extend, retry
from core.jobs.lifecycle import removal
from core.jobs.lifecycle.actors import key_of
from core.jobs.lifecycle.state import Request, request
from core.jobs.queue.waking import wake_for
from core.jobs.submission import validations

router = APIRouter(prefix="/jobs/{job_id}", tags=["Jobs"], route_class=StrictRoute)
WRITES = (BadRequest, NotSignedIn, CrossOrigin, NotFound, TooLarge, WrongMediaType, InvalidRequest)
TRANSITION = (*WRITES, IllegalTransition)
SUBMISSION = (
    InvalidSpec,
    WrongDatasetKind,
    LimitExceeded,
    WrongCheckpoint,
    QuotaExceeded,
    CheckpointDamaged,
    DatasetDamaged,
)
NEW_JOB = (*WRITES, *SUBMISSION, BlockedByValidation)


@router.post("/cancel", dependencies=IDEMPOTENT, responses=documented(*TRANSITION))
def cancel_job(job: JobDep, principal: PrincipalDep, session: SessionDep, body: TransitionReason | None = None) -> Job:
    """End a job without a worker at once. A running job is `cancelling` until its worker has stopped the run."""
    request(session, job, Request.CANCEL, key_of(principal), _reason(body))
    return views.job_view(session, job)


@router.post("/pause", dependencies=IDEMPOTENT, responses=documented(*TRANSITION))
def pause_job(job: JobDep, principal: PrincipalDep, session: SessionDep, body: TransitionReason | None = None) -> Job:
    """Pause a queued job at once. A running job is `pausing` until the trainer has finished its step and saved.

    The worker then gives up the job and its GPU. A paused job keeps its checkpoints.
    """
    request(session, job, Request.PAUSE, key_of(principal), _reason(body))
    return views.job_view(session, job)


@router.post("/resume", dependencies=IDEMPOTENT, responses=documented(*TRANSITION))
def resume_job(
    job: JobDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    body: TransitionReason | None = None,
) -> Job:
    """Queue a paused job again. It continues after its last saved step, with the numbers that it would have had without the pause.

    A job whose group has reached `max_parallel` stays paused until another one ends.
    """
    retry.resume_job(session, job, key_of(principal), _reason(body))
    wake_for(session, job, settings.redis_url)
    return views.job_view(session, job)


@router.post("/retry", dependencies=IDEMPOTENT, responses=documented(*TRANSITION, *SUBMISSION))
def retry_job(
    job: JobDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    body: TransitionReason | None = None,
) -> Job:
    """Queue a failed or cancelled job again: a new attempt from its last checkpoint, with the same spec.

    A job whose group has reached `max_parallel` is paused until another one ends.
    """
    retry.retry_job(session, job, key_of(principal), settings, _reason(body))
    wake_for(session, job, settings.redis_url)
    return views.job_view(session, job)


@router.post("/clone", status_code=201, dependencies=IDEMPOTENT, responses=documented(*NEW_JOB))
def clone_job(
    job: JobDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    body: CloneJob | None = None,
    force: Force = False,
) -> Job:
    """Submit a new job with the spec of this one, changed by a merge patch. Errors point into the merged spec."""
    made = branch.clone_job(session, job, body.patch if body else {}, settings, key_of(principal))
    if not force:
        validations.refuse_blocked(session, job.owner_id, made.spec)
    wake_for(session, made, settings.redis_url)
    return views.job_view(session, made)


@router.post("/branch", status_code=201, dependencies=IDEMPOTENT, responses=documented(*NEW_JOB))
def branch_job(
    body: BranchJob,
    job: JobDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    force: Force = False,
) -> Job:
    """Submit a new job that continues this one from a checkpoint, with a changed spec.

    `parent.carried` of the new job lists what carries over. A change that makes the stored state unusable is refused with its
    field. The checkpoint is kept until the new job has ended or has saved its own.
    """
    start = branch.BranchStart(body.checkpoint, body.stage, body.step)
    made = branch.branch_job(session, job, start, body.patch, settings, key_of(principal))
    if not force:
        validations.refuse_blocked(session, job.owner_id, made.spec)
    wake_for(session, made, settings.redis_url)
    return views.job_view(session, made)


@router.post("/extend", status_code=201, dependencies=IDEMPOTENT, responses=documented(*NEW_JOB, JobNotEnded))
def extend_job(
    body: ExtendJob,
    job: JobDep,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    force: Force = False,
) -> Job:
    """Submit a new job that gives the PPO stage of a succeeded one more steps, from its last stored state.

    It is refused with the field if a schedule of the spec depends on the number of steps. Branch in that case.
    """
    made = extend.extend_job(session, job, body.steps, settings, key_of(principal))
    if not force:
        validations.refuse_blocked(session, job.owner_id, made.spec)
    wake_for(session, made, settings.redis_url)
    return views.job_view(session, made)


@router.post("/archive", responses=documented(*WRITES, JobNotEnded))
def archive_job(job: JobDep, session: SessionDep) -> Job:
    """Leave a job that has ended out of the default list. Nothing of it is deleted."""
    removal.archive_job(session, job)
    return views.job_view(session, job)


@router.post("/unarchive", responses=documented(*WRITES))
def unarchive_job(job: JobDep, session: SessionDep) -> Job:
    """Return an archived job to the default list."""
    removal.unarchive_job(job)
    return views.job_view(session, job)


@router.delete("", status_code=204, responses=documented(*WRITES, JobNotEnded, JobInUse, PreconditionFailed))
def delete_job(job: JobDep, session: SessionDep, blobs: BlobsDep, condition: IfMatch) -> None:
    """Delete a job that has ended, with its events, metrics, logs and checkpoints.

    It is refused while an unfinished job or a round needs one of its checkpoints. `jobs` and `rounds` of the problem list them.
    """
    condition.check(session, job)
    removal.delete_job(session, blobs, job.id)


def _reason(body: TransitionReason | None) -> str:
    return body.reason if body else ""
