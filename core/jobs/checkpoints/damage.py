"""Refuses and records damaged checkpoints."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import func
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.blobs import BlobStore, Content, blob_store, fault_of
from core.db import after_rollback, session_scope
from core.errors import CheckpointDamaged
from core.jobs.run.events import append_event
from core.models import Checkpoint, Job
from core.settings import Settings
from trainer import events

AT_REQUEST_BYTES = 2**30
"""Largest checkpoint that is hashed while a request waits. The worker verifies every one when it fetches it."""
log = logging.getLogger(__name__)


def content_of(file: Mapping[str, Any]) -> Content:
    """The content that a file of a checkpoint had when it was stored."""
    return Content(file["bytes"], file["sha256"], file.get("stamp"))


def fault_of_checkpoint(blobs: BlobStore, checkpoint: Checkpoint, *, read_all: bool = False) -> str | None:
    """The first fault of the stored files; None if all are as they were saved. Raises StorageUnreadable.

    `read_all`: also read the files that have the stamp with which they were stored.
    """
    for file in checkpoint.files:
        content = replace(content_of(file), stamp=None) if read_all else content_of(file)
        if fault := fault_of(blobs, f"{checkpoint.blob_prefix}/{file['path']}", content):
            return f"{file['path']} {fault}"
    return None


def refuse_damaged(session: Session, settings: Settings, named: Mapping[str, Checkpoint]) -> None:
    """Raise CheckpointDamaged for the first damaged one of these checkpoints, which are named by the field or the folder.

    The damage is recorded after the request's transaction is rolled back. A checkpoint without any stored file is left to the
    worker, because the store may be another machine's.
    """
    blobs = blob_store(settings)
    for name, checkpoint in named.items():
        if checkpoint.damage is None and (fault := _fault_at_request(blobs, checkpoint)):
            raise refusal(session, checkpoint, fault, name)
        refuse_marked(checkpoint, name)


def refuse_marked(checkpoint: Checkpoint, param: str | None = None) -> None:
    """Raise CheckpointDamaged for a checkpoint that is known to be damaged."""
    if checkpoint.damage is not None:
        raise CheckpointDamaged(f"{describe(checkpoint, checkpoint.damage)} {_ADVICE}", **_extras(checkpoint, param))


def refusal(session: Session, checkpoint: Checkpoint, fault: str, param: str | None = None) -> CheckpointDamaged:
    """The error of a request for a checkpoint that was just found damaged. Its row is marked after the rollback."""
    after_rollback(session, lambda: _mark_afterwards(checkpoint.id, fault))
    return CheckpointDamaged(f"{describe(checkpoint, fault)} {_ADVICE}", **_extras(checkpoint, param))


def mark(session: Session, checkpoint_id: str, fault: str, remedy: str) -> Checkpoint | None:
    """Record a damage, with an event of the job that owns the checkpoint. Returns None if the checkpoint was deleted.

    A damage that is recorded already stays as it is.
    """
    found = session.get(Checkpoint, checkpoint_id)
    if found is None:
        return None
    job = session.get_one(Job, found.job_id, with_for_update={"key_share": True}, populate_existing=True)
    found = session.get(Checkpoint, checkpoint_id, with_for_update={"key_share": True}, populate_existing=True)
    if found is None or found.damage is not None:
        return found
    found.damage, found.damaged_at = fault, func.clock_timestamp()
    folder = found.path or f"checkpoints/{found.stage}"
    event = {"stage": found.stage, "step": found.step, "path": folder, "final": found.final, "best": found.best}
    event |= {"seed": found.seed, "reason": fault, "remedy": remedy, "checkpoint": found.id}
    append_event(session, job, events.CheckpointDamaged.model_validate(event))
    return found


def describe(checkpoint: Checkpoint, fault: str) -> str:
    """The checkpoint and its fault, in one sentence."""
    seed = "" if checkpoint.seed is None else f" of seed {checkpoint.seed}"
    kind = ", the result" if checkpoint.final else ", the best one" if checkpoint.best else ""
    place = f"{checkpoint.stage} step {checkpoint.step}{seed}{kind}"
    return f"The checkpoint {checkpoint.id} ({place}) of {checkpoint.job_id} is damaged: {fault}."


_ADVICE = (
    "It is not used. `GET /v1/jobs/{id}/checkpoints` lists the good ones. An operator can restore the file from a backup; "
    "`proximal doctor --blobs` then clears the mark."
)


def _fault_at_request(blobs: BlobStore, checkpoint: Checkpoint) -> str | None:
    keys = [f"{checkpoint.blob_prefix}/{file['path']}" for file in checkpoint.files]
    if checkpoint.bytes > AT_REQUEST_BYTES or not any(map(blobs.exists, keys)):
        return None
    return fault_of_checkpoint(blobs, checkpoint)


def _extras(checkpoint: Checkpoint, param: str | None) -> dict[str, str]:
    found = {"checkpoint": checkpoint.id}
    if param is None:
        return found
    field = param.removeprefix("#/").replace("/", ".")
    return found | {"param": "checkpoint" if param.startswith("checkpoints/") else field}


def _mark_afterwards(checkpoint_id: str, fault: str) -> None:
    """Mark in a transaction of its own. Without the database, the next reader finds the same damage."""
    try:
        with session_scope() as session:
            mark(session, checkpoint_id, fault, "It is not used.")
    except (OperationalError, InterfaceError) as error:
        log.warning("could not record the damage of %s: %s", checkpoint_id, error)
