"""Damaged inputs of an attempt: recorded, and replaced by the newest good checkpoint where the job has one."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.datasets import damage as row_damage
from core.db import session_scope
from core.errors import CheckpointDamaged, DatasetDamaged, NoGoodCheckpoint
from core.jobs.actions.branch import BEST
from core.jobs.checkpoints import damage
from core.jobs.checkpoints.checkpoints import stages_without_good_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.attempts import Claim
from core.models import Checkpoint, CheckpointPin
from worker.jobs.checkpoints import DamagedCheckpoint


class DamagedRows(Exception):
    """The stored rows of a dataset version are not those that were imported. `fault` names the difference."""

    def __init__(self, sha256: str, fault: str) -> None:
        super().__init__(f"{sha256}: {fault}")
        self.sha256 = sha256
        self.fault = fault


def record(
    session: Session, claim: Claim, error: DamagedCheckpoint | DamagedRows
) -> CheckpointDamaged | DatasetDamaged | None:
    """Record the damage. Returns the error that ends the job; None if the attempt can go on without the checkpoint.

    Raises LeaseLost.
    """
    attempts.held(session, claim.job_id, claim.attempt)
    if isinstance(error, DamagedRows):
        return DatasetDamaged(f"{row_damage.mark(session, error.sha256, error.fault)} Then retry the job.")
    checkpoint = session.get_one(Checkpoint, error.checkpoint_id)
    own, fields = checkpoint.job_id == claim.job_id, _fields(session, claim, checkpoint)
    replaceable = own or fields == [BEST]
    remedy = (
        _remedy(session, checkpoint)
        if own
        else "A job that starts from it cannot run."
        if not replaceable
        else _WITHOUT
    )
    damage.mark(session, checkpoint.id, error.fault, remedy)
    if replaceable:
        return None
    named = ", ".join(fields)
    return CheckpointDamaged(
        f"{damage.describe(checkpoint, error.fault)} This job starts from it ({named}). Submit it again with another checkpoint: "
        f"`GET /v1/jobs/{checkpoint.job_id}/checkpoints` lists them. Or retry the job once an operator has restored the file."
    )


def recorded(error: DamagedCheckpoint | DamagedRows) -> CheckpointDamaged | DatasetDamaged:
    """Record the damage that a data task met. Returns the error that ends the task."""
    with session_scope() as session:
        if isinstance(error, DamagedRows):
            return DatasetDamaged(row_damage.mark(session, error.sha256, error.fault))
        found = damage.mark(session, error.checkpoint_id, error.fault, "It is not used.")
    text = f"{error.checkpoint_id} is damaged: {error.fault}." if found is None else damage.describe(found, error.fault)
    return CheckpointDamaged(text)


def refuse_lost_stage(session: Session, job_id: str) -> None:
    """Raise NoGoodCheckpoint if every stored checkpoint of a stage is damaged. Beginning anew is the user's decision."""
    for checkpoints in stages_without_good_checkpoint(session, job_id):
        newest = checkpoints[0]
        seed = "" if newest.seed is None else f" of seed {newest.seed}"
        count = f"all {len(checkpoints)} stored checkpoints" if len(checkpoints) > 1 else "the only stored checkpoint"
        raise NoGoodCheckpoint(
            f"No good checkpoint of the stage {newest.stage}{seed} is left: {count} ({', '.join(checkpoint.id for checkpoint in checkpoints)}) "
            f"{'are' if len(checkpoints) > 1 else 'is'} damaged. {newest.id}: {newest.damage}. Retry the job "
            f"(`POST /v1/jobs/{job_id}/retry`) to begin this stage anew with the results of the stages before it. Or clone the "
            f"job (`POST /v1/jobs/{job_id}/clone`) to begin from the start."
        )


def may_be_left_out(folder: str, start: Checkpoint) -> bool:
    """Whether a branch begins without this checkpoint of its parent: a damaged best one."""
    return folder == BEST and start.damage is not None


_WITHOUT = "The run goes on without it."


def _fields(session: Session, claim: Claim, found: Checkpoint) -> list[str]:
    query = select(CheckpointPin.field).filter_by(job_id=claim.job_id, checkpoint_id=found.id)
    return sorted(session.scalars(query))


def _remedy(session: Session, found: Checkpoint) -> str:
    """The next good checkpoint of the same stage."""
    if found.best and not found.final:
        return _WITHOUT
    query = select(Checkpoint).filter_by(
        job_id=found.job_id, stage=found.stage, seed=found.seed, final=False, best=False, damage=None
    )
    query = query.where(Checkpoint.id != found.id, Checkpoint.path.is_not(None)).order_by(Checkpoint.step.desc())
    newest = session.scalars(query.limit(1)).first()
    if newest is None:
        return f"No good checkpoint of the stage {found.stage} is left."
    return f"The stage {found.stage} continues from step {newest.step}."
