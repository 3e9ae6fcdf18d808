"""Submits a new job with the changed spec of another one: a clone begins anew, a branch continues from a checkpoint."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from core.errors import InvalidRequest, InvalidSpec, NotFound
from core.jobs.checkpoints.damage import refuse_damaged
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.descriptions import copy_description
from core.jobs.overview.lineage import inherited_stages, origin_of
from core.jobs.submission.stored_specs import patched, validated
from core.jobs.submission.submit import Queueing, pin_checkpoints, submit_job
from core.models import Checkpoint, Job
from core.models.jobs import Relation
from core.settings import Settings
from trainer.spec import JobSpec, StageName
from trainer.spec.carry_over import BranchPoint, carried_parts, unusable_changes
from trainer.spec.section import STAGES

_STATE = "trainer_state/"
"""The part of an intermediate checkpoint that a run needs to continue."""
BEST = "checkpoints/ppo-best"


def clone_job(session: Session, job: Job, patch: Mapping[str, Any], settings: Settings, actor: Actor) -> Job:
    """Queue a job with the patched spec of `job`. It starts from the beginning.

    Raises InvalidSpec with pointers into the merged spec, and the errors of `submit_job`.
    """
    made = submit_job(
        session, job.owner_id, patched({**job.spec, "name": job.name}, patch), settings, actor, Queueing.of(job)
    )
    copy_description(made, job)
    made.parent = origin_of(job, Relation.CLONE)
    session.flush()
    return made


@dataclass(frozen=True)
class BranchStart:
    """The checkpoint to start from: by its id, or by its stage and step."""

    checkpoint: str | None = None
    stage: str | None = None
    step: int | None = None
    relation: Relation = Relation.BRANCH


def branch_job(
    session: Session, job: Job, start: BranchStart, patch: Mapping[str, Any], settings: Settings, actor: Actor
) -> Job:
    """Queue a job whose first attempt resumes from the checkpoint, with the patched spec of `job`.

    The checkpoints that it needs are kept until the job has ended or has saved its own. Raises NotFound, InvalidSpec for a
    patch that makes the stored state unusable, and the errors of `submit_job`.
    """
    checkpoint = _start_checkpoint(session, job, start)
    stored = _with_one_seed(job, checkpoint) | {"name": job.name}
    old, new = validated(stored), patched(stored, patch)
    point = BranchPoint(_stage(checkpoint), checkpoint.step, checkpoint.final)
    _refuse_unusable(old, new, point)
    folders = _folders(session, job, checkpoint, new)
    refuse_damaged(session, settings, folders)
    made = submit_job(session, job.owner_id, new, settings, actor, Queueing.of(job))
    pin_checkpoints(session, made, folders)
    copy_description(made, job)
    results = {stage: folders[f"checkpoints/{stage}"] for stage in new.stages if f"checkpoints/{stage}" in folders}
    made.parent = origin_of(job, start.relation, checkpoint) | {
        "stages": inherited_stages(session, results),
        "carried": [asdict(part) for part in carried_parts(old, new, point)],
        "folders": {folder: one.id for folder, one in folders.items()},
    }
    session.flush()
    return made


def _start_checkpoint(session: Session, job: Job, start: BranchStart) -> Checkpoint:
    """The checkpoint, locked against deletion until the commit. The one with the state for a resume is preferred."""
    query = select(Checkpoint).filter_by(job_id=job.id)
    if start.checkpoint is not None:
        query = query.filter_by(id=start.checkpoint)
    else:
        query = query.filter_by(stage=start.stage, step=start.step, seed=None)
    found = session.scalars(query.with_for_update(read=True, key_share=True)).all()
    usable = [one for one in found if can_branch(one)]
    if usable:
        return min(usable, key=lambda one: (one.damage is not None, one.final, one.best, one.id))
    param = "step" if start.checkpoint is None else "checkpoint"
    if found:
        raise InvalidRequest(
            f"{found[0].id} holds a model without the state of its run. Start a job with it as `model.path`.",
            param=param,
        )
    wanted = start.checkpoint or f"{start.stage}, step {start.step}"
    raise NotFound(f"{job.id} has no checkpoint {wanted}. It has: {_listed(session, job)}.", param=param)


def _listed(session: Session, job: Job) -> str:
    """The places from which a branch can start, each once: a place may have a state, a best one and a result."""
    found = session.scalars(select(Checkpoint).filter_by(job_id=job.id))
    rows = [one for one in found if can_branch(one) and one.damage is None]
    rows.sort(key=lambda one: (STAGES.index(_stage(one)), one.step, one.final, one.seed or 0))
    return ", ".join(dict.fromkeys(map(_place, rows))) or "none"


def _place(one: Checkpoint) -> str:
    seed = "" if one.seed is None else f" of seed {one.seed}"
    return f"{one.stage} {one.step}{seed}{' (result)' if one.final else ''}"


def can_resume(checkpoint: Checkpoint) -> bool:
    """Whether an intermediate checkpoint holds the state that its run continues from."""
    return any(file["path"].startswith(_STATE) for file in checkpoint.files)


def can_branch(checkpoint: Checkpoint) -> bool:
    """Whether a branch can start from it: a result, or one with the state of its run. A best one may hold a model alone."""
    return checkpoint.final or can_resume(checkpoint)


def _stage(checkpoint: Checkpoint) -> StageName:
    stage: StageName = checkpoint.stage  # type: ignore[assignment]  # written from an event of the trainer
    return stage


def _with_one_seed(job: Job, checkpoint: Checkpoint) -> dict[str, Any]:
    """The stored spec. A branch of a job with several seeds continues that of its checkpoint."""
    if checkpoint.seed is not None:
        return job.spec | {"seed": checkpoint.seed, "seeds": 1}
    if job.spec.get("seeds", 1) > 1:
        detail = f"{job.id} has several seeds, and {checkpoint.id} is the result of the best one"
        raise InvalidRequest(f"{detail}. Choose a checkpoint that names its seed.", param="checkpoint")
    return job.spec


def _refuse_unusable(old: JobSpec, new: JobSpec, point: BranchPoint) -> None:
    """Raises InvalidSpec with every field whose change makes the state unusable."""
    if found := unusable_changes(old, new, point):
        errors = [{"pointer": one.pointer, "detail": one.detail} for one in found]
        param = found[0].pointer.removeprefix("#/").replace("/", ".")
        raise InvalidSpec(f"{found[0].pointer}: {found[0].detail}.", param=param, errors=errors)


def _folders(session: Session, job: Job, start: Checkpoint, spec: JobSpec) -> dict[str, Checkpoint]:
    """The checkpoints of the first attempt, by their folder within the run folder. Raises NotFound for a missing result."""
    point = BranchPoint(_stage(start), start.step, start.final)
    own = start.stage if start.final else f"{start.stage}-{start.step:06d}"
    folders = {f"checkpoints/{own}": start}
    for stage in spec.stages:
        folder = f"checkpoints/{stage}"
        if stage not in point.done or stage == "evaluation" or folder in folders:
            continue
        folders[folder] = _result(session, job, stage, start)
    best = session.scalars(
        _locked(job, seed=start.seed, stage=start.stage, best=True, final=False, damage=None)
    ).first()
    if start.stage == "ppo" and best is not None and best.step <= start.step and best.path is not None:
        folders[BEST] = best
    return folders


def _result(session: Session, job: Job, stage: str, start: Checkpoint) -> Checkpoint:
    """The result of a finished stage: the job's own, or the one that it was branched with. Raises NotFound if it is gone."""
    found = session.scalars(_locked(job, seed=start.seed, stage=stage, final=True)).first()
    inherited = ((job.parent or {}).get("folders") or {}).get(f"checkpoints/{stage}")
    if found is None and inherited is not None:
        found = session.get(Checkpoint, inherited, with_for_update={"read": True, "key_share": True})
    if found is None:
        owners = [one["job"] for one in (job.parent or {}).get("stages", ()) if one["stage"] == stage]
        whose = "".join(f" It belonged to {owner}, which was deleted." for owner in owners)
        remedy = f"Clone the job to run every stage again, or submit one with {start.id} as `model.path`."
        detail = f"The result of the stage {stage} of {job.id} is no longer stored."
        raise NotFound(f"{detail}{whose} {remedy}", param="checkpoint")
    return found


def _locked(job: Job, **columns: Any) -> Select[Checkpoint]:
    query = select(Checkpoint).filter_by(job_id=job.id, **columns)
    return query.with_for_update(read=True, key_share=True)
