"""The checkpoints of a job, as its worker reports them."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, TypedDict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.db import storable_numbers
from core.jobs.attempts import held
from core.models import AnnotationPin, Checkpoint, CheckpointPin
from core.models.base import new_id
from trainer.events import CheckpointSaved


class File(TypedDict):
    """A file of a checkpoint: `path` relative to its folder, in posix spelling."""

    path: str
    bytes: int
    sha256: str


def checkpoint_prefix(job_id: str, attempt: int, number: int, path: str) -> str:
    """Where an attempt puts a checkpoint folder. `number` is another each time, so nothing is ever written over."""
    return f"jobs/{job_id}/checkpoints/{attempt}-{number}/{path}"


def record_checkpoint(
    session: Session, job_id: str, attempt: int, saved: CheckpointSaved, files: Sequence[File], blob_prefix: str
) -> Checkpoint:
    """Make an uploaded checkpoint known. What the same folder held before is no longer a part of the run."""
    held(session, job_id, attempt)
    for path in (saved.path, *(file["path"] for file in files)):
        _refuse_escape(path)
    _make_room(session, job_id, saved)
    checkpoint = Checkpoint(
        id=new_id("ckpt"),
        job_id=job_id,
        attempt=attempt,
        **saved.model_dump(include={"stage", "step", "final", "best", "seed", "path"}),
        metrics=storable_numbers(saved.metrics),
        files=[_plain(file) for file in files],
        bytes=sum(file["bytes"] for file in files),
        blob_prefix=blob_prefix,
    )
    session.add(checkpoint)
    session.flush()
    return checkpoint


def prune_checkpoints(session: Session, job_id: str, attempt: int) -> list[str]:
    """Forget the intermediate checkpoints beyond the newest `checkpoints.keep_last` of each stage, and those whose
    folder now holds another; but none that an unfinished job needs.

    Answers their blob prefixes, to be deleted once this is committed.
    """
    job = held(session, job_id, attempt)
    stale = list(session.scalars(select(Checkpoint).filter_by(job_id=job_id, path=None)))
    for found in _intermediate_by_stage(session, job_id).values():
        stale += found[job.spec["checkpoints"]["keep_last"] :]
    free = _free(session, [checkpoint.id for checkpoint in stale])
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_(free)))
    return [checkpoint.blob_prefix for checkpoint in stale if checkpoint.id in free]


def checkpoints_to_resume(session: Session, job_id: str) -> list[Checkpoint]:
    """What a new attempt needs: the final one of each finished stage; of each other the newest, and the best."""
    query = select(Checkpoint).filter_by(job_id=job_id).where(Checkpoint.path.is_not(None))
    final = session.scalars(query.filter_by(final=True)).all()
    done = {(checkpoint.seed, checkpoint.stage) for checkpoint in final}
    newest = [found[0] for found in _intermediate_by_stage(session, job_id).values()]
    best = session.scalars(query.filter_by(best=True, final=False)).all()
    return [*final, *(found for found in (*newest, *best) if (found.seed, found.stage) not in done)]


def _intermediate_by_stage(session: Session, job_id: str) -> dict[tuple[int | None, str], list[Checkpoint]]:
    """Newest first, by seed and stage."""
    query = select(Checkpoint).filter_by(job_id=job_id, final=False, best=False).where(Checkpoint.path.is_not(None))
    stages: dict[tuple[int | None, str], list[Checkpoint]] = {}
    for checkpoint in session.scalars(query.order_by(Checkpoint.step.desc())):
        stages.setdefault((checkpoint.seed, checkpoint.stage), []).append(checkpoint)
    return stages


def _make_room(session: Session, job_id: str, saved: CheckpointSaved) -> None:
    """What lay in the folder is no longer there, and what was the best so far is one like the others."""
    query = select(Checkpoint).filter_by(job_id=job_id)
    for replaced in session.scalars(query.filter_by(path=saved.path)):
        replaced.path, replaced.best = None, False
    if saved.best:
        for beaten in session.scalars(query.filter_by(stage=saved.stage, seed=saved.seed, best=True)):
            beaten.best = False
    session.flush()


def _free(session: Session, ids: Sequence[str]) -> set[str]:
    """Those that no unfinished job needs, and no round that is about to ask or to be scored by them.

    Locked first, so that a job which is being created with one of them is either seen here or finds it gone; one that
    is locked by such a job at this moment is left for the next time.
    """
    query = select(Checkpoint.id).where(Checkpoint.id.in_(ids)).with_for_update(skip_locked=True)
    found = set(session.scalars(query))
    for pin in (CheckpointPin, AnnotationPin):
        found -= set(session.scalars(select(pin.checkpoint_id).where(pin.checkpoint_id.in_(ids))))
    return found


def _plain(file: File) -> dict[str, Any]:
    return {"path": file["path"], "bytes": file["bytes"], "sha256": file["sha256"]}


def _refuse_escape(path: str) -> None:
    """A folder is restored from these names on another machine: they must stay inside it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) != path:
        raise ValueError(f"not a plain relative path: {path!r}")
