"""Validations: checks of specs on the stored datasets and models, without training. A data task runs the trainer's check."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from core import tasks
from core.errors import BlockedByValidation, NotFound, QuotaExceeded, TaskEnded
from core.jobs.submission.submit import resolve
from core.jobs.submission.validation_result import ValidationResult
from core.models import UNAUDITED, DataTask, Validation
from core.models.base import new_id
from core.models.tasks import TaskStatus
from core.settings import Settings
from trainer.spec import DATASETS, JobSpec

VALIDATE = "validate"
"""The kind of the data task that makes a validation."""
KEPT_DAYS = 30
"""Days after which a validation is deleted, when its owner requests another one."""
MOST_UNFINISHED = 20
"""Most unfinished validations of one owner."""
_OVER = (TaskStatus.FAILED, TaskStatus.CANCELLED)


@dataclass(frozen=True)
class ValidationDetails:
    """A validation, and the task that makes it."""

    validation: Validation
    task: DataTask

    @property
    def result(self) -> ValidationResult | None:
        stored = self.validation.result
        return None if stored is None else ValidationResult.model_validate(stored)


def request(
    session: Session, owner_id: str, spec: JobSpec, settings: Settings, *, refresh: bool = False
) -> ValidationDetails:
    """The validation of the spec. A data task is queued unless the same resolved spec has a result or is being checked.

    `refresh`: check again although there is a result. Raises QuotaExceeded, and the errors of `core.jobs.submission.submit.resolve`.
    """
    resolved, _ = resolve(session, owner_id, spec, settings)
    sha256 = hash_of(resolved)
    # This lock serialises the requests of an owner, so that an equal one finds the validation of the first.
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"validations {owner_id}", 0))))
    found = session.scalars(select(Validation).filter_by(owner_id=owner_id, sha256=sha256)).one_or_none()
    if found is not None:
        task = session.get_one(DataTask, found.task_id)
        if task.status in tasks.UNFINISHED or (task.status not in _OVER and not refresh):
            return ValidationDetails(found, task)
    _check_unfinished(session, owner_id)
    _delete_old(session, owner_id)
    made = found or Validation(id=new_id("validation"), owner_id=owner_id, sha256=sha256, spec=resolved)
    task = tasks.enqueue(session, owner_id, VALIDATE, {"validation": made.id})
    made.task_id, made.result, made.requested_at = task.id, None, func.now()
    session.add(made)
    session.flush()
    session.refresh(made)
    return ValidationDetails(made, task)


def get(session: Session, owner_id: str, validation_id: str) -> ValidationDetails:
    """The owner's validation. Raises NotFound."""
    query = select(Validation, DataTask).join(DataTask, DataTask.id == Validation.task_id)
    found = session.execute(query.where(Validation.id == validation_id, Validation.owner_id == owner_id)).one_or_none()
    if found is None:
        raise NotFound(f"There is no validation {validation_id!r}.")
    return ValidationDetails(*found)


def cancel(session: Session, owner_id: str, validation_id: str) -> ValidationDetails:
    """Cancel a check. A running one is ended within about a second, a queued one never starts.

    One that was cancelled before stays as it is. Raises NotFound, and TaskEnded for one that succeeded or failed.
    """
    found = get(session, owner_id, validation_id)
    tasks.cancel(session, found.task)
    if found.task.status != TaskStatus.CANCELLED:
        raise TaskEnded(f"{validation_id} has {found.task.status} and cannot be cancelled.")
    return found


def refuse_blocked(session: Session, owner_id: str, resolved: Mapping[str, Any]) -> None:
    """Raise BlockedByValidation if a finished validation of exactly this resolved spec has blocking findings."""
    query = select(Validation).filter_by(owner_id=owner_id, sha256=hash_of(resolved))
    found = session.scalars(query.where(Validation.result.is_not(None))).one_or_none()
    if found is None:
        return
    findings = ValidationResult.model_validate(found.result).findings
    blocking = [finding for finding in findings if finding.severity == "blocking"]
    if not blocking:
        return
    count = f"{len(blocking)} blocking finding{'s' * (len(blocking) != 1)}"
    raise BlockedByValidation(
        f"{found.id} has {count}: the run would fail. Change the spec, or validate it again with `refresh=true` if the "
        "platform has changed since. `force=true` submits the job anyway.",
        param=_param(blocking[0].pointer),
        validation=found.id,
        errors=[finding.model_dump(exclude_none=True) for finding in blocking],
    )


def hash_of(resolved: Mapping[str, Any]) -> str:
    """The hash of a resolved spec and the rows of its datasets.

    The same rows in another dataset give the same hash, and so does another name of the job.
    """
    rows = {role: (resolved["data"].get(role) or "").rpartition("@")[2] for role in DATASETS}
    counted = {**resolved, "name": "", "data": {**resolved["data"], **rows}}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()


def _param(pointer: str) -> str:
    return pointer.removeprefix("#").removeprefix("/").replace("/", ".")


def _check_unfinished(session: Session, owner_id: str) -> None:
    query = select(func.count()).select_from(DataTask)
    query = query.where(DataTask.owner_id == owner_id, DataTask.kind == VALIDATE, DataTask.status.in_(tasks.UNFINISHED))
    count = session.scalars(query).one()
    if count >= MOST_UNFINISHED:
        raise QuotaExceeded(
            f"You have {count} unfinished validations. This platform allows {MOST_UNFINISHED}. Wait until some have ended.",
            limit=MOST_UNFINISHED,
            value=count,
        )


def _delete_old(session: Session, owner_id: str) -> None:
    """Delete the owner's old validations without an unfinished task."""
    unfinished = select(DataTask.id).where(DataTask.id == Validation.task_id, DataTask.status.in_(tasks.UNFINISHED))
    old = Validation.requested_at < func.now() - func.make_interval(0, 0, 0, KEPT_DAYS)
    gone = delete(Validation).where(Validation.owner_id == owner_id, old, ~unfinished.exists())
    session.execute(gone, execution_options=UNAUDITED)
