"""The checkpoints of a job, as its worker reports them."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, TypedDict

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.ids import new_id
from core.jobs.holding import held
from core.models import Checkpoint
from core.storable import numbers
from trainer.events import CheckpointSaved


class File(TypedDict):
    """A file of a checkpoint: `path` relative to its folder, in posix spelling."""

    path: str
    bytes: int
    sha256: str


def checkpoint_prefix(job_id: str, attempt: int, name: str) -> str:
    """Where an attempt puts the checkpoint folder `name`: no two attempts ever write to the same place."""
    return f"jobs/{job_id}/checkpoints/{attempt}/{name}"


def record_checkpoint(
    session: Session, job_id: str, attempt: int, saved: CheckpointSaved, files: Sequence[File], blob_prefix: str
) -> Checkpoint:
    """Make an uploaded checkpoint known. The same step saved again, by a later attempt, replaces the earlier record."""
    held(session, job_id, attempt)
    for file in files:
        _refuse_escape(file["path"])
    where = {"job_id": job_id, "stage": saved.stage, "step": saved.step, "final": saved.final}
    checkpoint = session.scalars(select(Checkpoint).filter_by(**where)).one_or_none()
    if checkpoint is None:
        checkpoint = Checkpoint(id=new_id("ckpt"), **where)
    checkpoint.attempt, checkpoint.blob_prefix = attempt, blob_prefix
    checkpoint.metrics, checkpoint.files = numbers(saved.metrics), [_plain(file) for file in files]
    checkpoint.bytes = sum(file["bytes"] for file in files)
    session.add(checkpoint)
    session.flush()
    return checkpoint


def prune_checkpoints(session: Session, job_id: str, attempt: int) -> list[str]:
    """Forget the intermediate checkpoints beyond the newest `checkpoints.keep_last` of each stage.

    Answers their blob prefixes, to be deleted once this is committed.
    """
    job = held(session, job_id, attempt)
    stale: list[Checkpoint] = []
    for found in _intermediate_by_stage(session, job_id).values():
        stale += found[job.spec["checkpoints"]["keep_last"] :]
    session.execute(delete(Checkpoint).where(Checkpoint.id.in_([checkpoint.id for checkpoint in stale])))
    return [checkpoint.blob_prefix for checkpoint in stale]


def checkpoints_to_resume(session: Session, job_id: str) -> list[Checkpoint]:
    """What a new attempt needs: the final one of each finished stage, and the newest of each other."""
    final = session.scalars(select(Checkpoint).filter_by(job_id=job_id, final=True)).all()
    done = {checkpoint.stage for checkpoint in final}
    newest = [found[0] for stage, found in _intermediate_by_stage(session, job_id).items() if stage not in done]
    return [*final, *newest]


def _intermediate_by_stage(session: Session, job_id: str) -> dict[str, list[Checkpoint]]:
    """Newest first."""
    query = select(Checkpoint).filter_by(job_id=job_id, final=False).order_by(Checkpoint.step.desc())
    stages: dict[str, list[Checkpoint]] = {}
    for checkpoint in session.scalars(query):
        stages.setdefault(checkpoint.stage, []).append(checkpoint)
    return stages


def _plain(file: File) -> dict[str, Any]:
    return {"path": file["path"], "bytes": file["bytes"], "sha256": file["sha256"]}


def _refuse_escape(path: str) -> None:
    """A folder is restored from these names on another machine: they must stay inside it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path or str(pure) != path:
        raise ValueError(f"not a plain relative path: {path!r}")
