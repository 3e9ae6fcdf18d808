"""Records and prunes the checkpoints of a job."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NotRequired, TypedDict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.db import storable_numbers
from core.jobs.lifecycle.attempts import held
from core.models import AnnotationPin, Checkpoint, CheckpointPin
from core.models.base import new_id
from trainer.events import CheckpointSaved


class CheckpointFile(TypedDict):
    """A stored file: its posix path in the folder of the checkpoint, its size in bytes and its hash."""

    path: str
    bytes: int
    sha256: str
    stamp: NotRequired[str]
    """The stamp of the blob whose bytes have the hash. A store in a folder has none that outlasts a restored backup."""


def checkpoint_prefix(job_id: str, attempt: int, number: int, path: str) -> str:
    """The blob prefix of a checkpoint folder. Each call has another `number`, so that no blob is ever overwritten."""
    return f"jobs/{job_id}/checkpoints/{attempt}-{number}/{path}"


def record_checkpoint(
    session: Session,
    job_id: str,
    attempt: int,
    saved: CheckpointSaved,
    files: Sequence[CheckpointFile],
    blob_prefix: str,
) -> Checkpoint:
    """Store the row of an uploaded checkpoint. An earlier checkpoint of the same folder loses its path.

    Raises LeaseLost, and ValueError for a path outside the folder.
    """
    held(session, job_id, attempt)
    for path in (saved.path, *(file["path"] for file in files)):
        _refuse_path_outside(path)
    _release_folder(session, job_id, saved)
    checkpoint = Checkpoint(
        id=new_id("ckpt"),
        job_id=job_id,
        attempt=attempt,
        **saved.model_dump(include={"stage", "step", "final", "best", "seed", "path"}),
        metrics=storable_numbers(saved.metrics),
        files=[_as_dict(file) for file in files],
        bytes=sum(file["bytes"] for file in files),
        blob_prefix=blob_prefix,
    )
    session.add(checkpoint)
    session.flush()
    _release_start(session, checkpoint)
    return checkpoint


def prune_checkpoints(session: Session, job_id: str, attempt: int) -> list[str]:
    """Delete the rows of old intermediate checkpoints. Returns their blob prefixes, to be deleted after the commit.

    Each stage keeps the newest `checkpoints.keep_last` good ones. Checkpoints without a folder are deleted too. Those that an unfinished
    job or round needs are kept. Raises LeaseLost.
    """
    job = held(session, job_id, attempt)
    stale = list(session.scalars(select(Checkpoint).filter_by(job_id=job_id, path=None)))
    for found in _intermediate_by_stage(session, job_id).values():
        good = [one for one in found if one.damage is None]
        kept = good[: job.spec["checkpoints"]["keep_last"]]
        oldest = min((one.step for one in kept), default=0)
        # A damaged one counts only until the run has saved good ones after it.
        stale += [one for one in found if one not in kept and one.step <= oldest]
    free = unused(session, [checkpoint.id for checkpoint in stale])
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_(free)))
    return [checkpoint.blob_prefix for checkpoint in stale if checkpoint.id in free]


def checkpoints_to_resume(session: Session, job_id: str) -> list[Checkpoint]:
    """The checkpoints that a new attempt needs, none of them known to be damaged.

    They are the final one of a finished stage, and the newest and the best of any other.
    """
    query = select(Checkpoint).filter_by(job_id=job_id, damage=None).where(Checkpoint.path.is_not(None))
    final = session.scalars(query.filter_by(final=True)).all()
    done = {(checkpoint.seed, checkpoint.stage) for checkpoint in final}
    good = [[one for one in found if one.damage is None] for found in _intermediate_by_stage(session, job_id).values()]
    newest = [found[0] for found in good if found]
    best = session.scalars(query.filter_by(best=True, final=False)).all()
    return [*final, *(found for found in (*newest, *best) if (found.seed, found.stage) not in done)]


def stages_without_good_checkpoint(session: Session, job_id: str) -> list[list[Checkpoint]]:
    """The damaged checkpoints of each stage and seed that has no good one, neither a result nor one to resume from."""
    query = select(Checkpoint).filter_by(job_id=job_id).where(Checkpoint.path.is_not(None))
    stages: dict[tuple[int | None, str], list[Checkpoint]] = {}
    for one in session.scalars(query.order_by(Checkpoint.step.desc())):
        if one.final or not one.best:
            stages.setdefault((one.seed, one.stage), []).append(one)
    return [found for found in stages.values() if all(one.damage is not None for one in found)]


def release_lost_stages(session: Session, job_id: str) -> list[str]:
    """Let the stages without a good checkpoint begin anew. Returns their names."""
    lost = stages_without_good_checkpoint(session, job_id)
    for found in lost:
        for one in found:
            one.path = None
    session.flush()
    return list(dict.fromkeys(found[0].stage for found in lost))


def _intermediate_by_stage(session: Session, job_id: str) -> dict[tuple[int | None, str], list[Checkpoint]]:
    """The intermediate checkpoints by seed and stage, newest first."""
    query = select(Checkpoint).filter_by(job_id=job_id, final=False, best=False).where(Checkpoint.path.is_not(None))
    stages: dict[tuple[int | None, str], list[Checkpoint]] = {}
    for checkpoint in session.scalars(query.order_by(Checkpoint.step.desc())):
        stages.setdefault((checkpoint.seed, checkpoint.stage), []).append(checkpoint)
    return stages


def start_checkpoints(session: Session, job_id: str) -> dict[str, Checkpoint]:
    """The checkpoints of other jobs that a branch still starts from, by folder within the run folder."""
    query = select(CheckpointPin.field, Checkpoint).join(Checkpoint, Checkpoint.id == CheckpointPin.checkpoint_id)
    pinned = query.where(CheckpointPin.job_id == job_id, ~CheckpointPin.field.startswith("#"))
    return dict(session.execute(pinned).all())


def _release_start(session: Session, saved: Checkpoint) -> None:
    """Delete the pin of a branch on a checkpoint that its own one replaces.

    The results of earlier stages are kept, and the best checkpoint until the branch has a better one.
    """
    for folder, start in start_checkpoints(session, saved.job_id).items():
        best = folder.endswith("-best")
        behind = not start.final and not best and start.stage == saved.stage and not saved.best
        if folder == saved.path or behind:
            session.execute(delete(CheckpointPin).filter_by(job_id=saved.job_id, field=folder))


def _release_folder(session: Session, job_id: str, saved: CheckpointSaved) -> None:
    """Clear the path of an earlier checkpoint in the same folder, and the mark of an earlier best one."""
    query = select(Checkpoint).filter_by(job_id=job_id)
    for replaced in session.scalars(query.filter_by(path=saved.path)):
        replaced.path, replaced.best = None, False
    if saved.best:
        for beaten in session.scalars(query.filter_by(stage=saved.stage, seed=saved.seed, best=True)):
            beaten.best = False
    session.flush()


def unused(session: Session, ids: Sequence[str]) -> set[str]:
    """The checkpoints that no unfinished job needs, and no round is about to sample from or to be scored by.

    They are locked first. A job that is being created with one of them is either seen here, or does not find it. Checkpoints
    that such a job has locked are left for the next call.
    """
    query = select(Checkpoint.id).where(Checkpoint.id.in_(ids)).with_for_update(skip_locked=True)
    found = set(session.scalars(query))
    for pin in (CheckpointPin, AnnotationPin):
        found -= set(session.scalars(select(pin.checkpoint_id).where(pin.checkpoint_id.in_(ids))))
    return found


def _as_dict(file: CheckpointFile) -> dict[str, Any]:
    kept = {"path": file["path"], "bytes": file["bytes"], "sha256": file["sha256"]}
    return kept | {"stamp": file["stamp"]} if "stamp" in file else kept


def _refuse_path_outside(path: str) -> None:
    """Raises ValueError for a path outside its folder: other machines write files under these names."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) != path:
        raise ValueError(f"not a plain relative path: {path!r}")
