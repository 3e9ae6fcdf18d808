"""Submits a new job that gives the PPO stage of a succeeded one more steps, where that is well defined."""

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, InvalidSpec, NotFound
from core.jobs.actions.branch import BranchStart, branch_job, can_resume
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.removal import lock_ended
from core.jobs.submission.stored_specs import spec_of
from core.models import Checkpoint, Job
from core.models.jobs import JobStatus, Relation
from core.settings import Settings
from trainer.spec import PPOSpec

_REMEDY = "Branch from the checkpoint with the new `ppo.steps` to go on at the rates of the longer schedule"


def extend_job(session: Session, job: Job, steps: int, settings: Settings, actor: Actor) -> Job:
    """Queue a job that continues PPO from its last stored state to `steps`, and then runs the later stages.

    Raises JobNotEnded, and InvalidRequest for another job that cannot be extended. Raises InvalidSpec if a schedule depends on
    the number of steps, NotFound if the state is no longer stored, and the errors of `submit_job`.
    """
    lock_ended(session, job.id)
    spec = spec_of(job)
    if spec.seeds > 1:
        raise InvalidRequest(
            f"{job.id} has several seeds, so it cannot be extended. Branch from a checkpoint of one seed, with more `ppo.steps`."
        )
    if job.status != JobStatus.SUCCEEDED or "ppo" not in spec.stages:
        raise InvalidRequest(f"{job.id} is no succeeded job with a PPO stage, so it cannot be extended.")
    if steps <= spec.ppo.steps:
        raise InvalidRequest(f"`steps` must be more than {spec.ppo.steps}, those of {job.id}.", param="steps")
    newest = _newest_state(session, job)
    if faults := list(_undefined(spec.ppo, steps, newest.step)):
        errors = [{"pointer": f"#/ppo/{field}", "detail": detail} for field, detail in faults]
        field, detail = faults[0]
        raise InvalidSpec(f"#/ppo/{field}: {detail}. {_REMEDY}.", param=f"ppo.{field.replace('/', '.')}", errors=errors)
    start = BranchStart(checkpoint=newest.id, relation=Relation.EXTEND)
    return branch_job(session, job, start, {"ppo": {"steps": steps}}, settings, actor)


def _newest_state(session: Session, job: Job) -> Checkpoint:
    query = (
        select(Checkpoint)
        .filter_by(job_id=job.id, stage="ppo", final=False, damage=None)
        .order_by(Checkpoint.step.desc())
    )
    found = next((one for one in session.scalars(query) if can_resume(one)), None)
    if found is None:
        raise NotFound(
            f"{job.id} has no good stored state of its PPO stage. Start a job with its result as `model.path`."
        )
    return found


def _undefined(ppo: PPOSpec, steps: int, done: int) -> Iterator[tuple[str, str]]:
    """The fields that make a step depend on the number of steps, each with the reason."""
    if ppo.lr_schedule != "constant":
        yield (
            "lr_schedule",
            f'the "{ppo.lr_schedule}" schedule ended at step {ppo.steps}, and {steps} steps have other rates',
        )
    elif ppo.warmup_ratio * steps > done - (ppo.most_steps - ppo.steps):  # value pretraining may have taken so many
        yield "warmup_ratio", f"the warm-up of {steps} steps would still go on at step {done}"
    if ppo.kl.controller in ("linear", "cosine"):
        yield "kl/controller", f'the "{ppo.kl.controller}" coefficient reached its end at step {ppo.steps}'
    if ppo.online is not None:
        yield "online", "its rounds divide the number of steps"
