"""Data tasks: what is to be done to data, as rows of a table that is the queue. A message only says that one is there."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, aliased

from core.broker import DATA_QUEUE, knock
from core.datasets import versions
from core.db import after_commit
from core.errors import LeaseLost, NotFound
from core.models import DatasetVersion, DataTask
from core.models.base import new_id
from core.models.tasks import TaskStatus
from core.settings import get_settings
from core.storable import message
from data.text import storable

AT_WORK = (TaskStatus.QUEUED, TaskStatus.RUNNING)
_LISTED = 100


def enqueue(session: Session, owner_id: str, kind: str, args: dict[str, Any]) -> DataTask:
    """Queue a task, and knock once this is committed.

    Some `args` mean something here: `dataset` (an id) is whose list of tasks it stands in; `version` (an id) fails with
    the task, if it is still importing then.
    """
    status = TaskStatus.QUEUED.value
    task = DataTask(id=new_id("dt"), owner_id=owner_id, kind=kind, args=storable(args), status=status)
    task.progress, task.note, task.attempt = 0.0, "", 0
    session.add(task)
    session.flush()
    redis_url = get_settings().redis_url
    after_commit(session, lambda: knock(redis_url, DATA_QUEUE))
    return task


def get(session: Session, owner_id: str, task_id: str) -> DataTask:
    """The owner's task."""
    task = session.scalars(select(DataTask).filter_by(id=task_id, owner_id=owner_id)).one_or_none()
    if task is None:
        raise NotFound(f"There is no task {task_id!r}.")
    return task


def of_dataset(session: Session, owner_id: str, dataset_id: str) -> Sequence[DataTask]:
    """What is and was being done to a dataset, newest first; the last hundred."""
    query = select(DataTask).where(DataTask.owner_id == owner_id, argument("dataset") == dataset_id)
    return session.scalars(query.order_by(DataTask.created_at.desc(), DataTask.id).limit(_LISTED)).all()


def of_versions(session: Session, version_ids: Sequence[str]) -> dict[str, DataTask]:
    """The task at work that fills each of these versions, which are importing."""
    query = select(DataTask).where(DataTask.status.in_(AT_WORK), argument("version").in_(version_ids))
    return {task.args["version"]: task for task in session.scalars(query)} if version_ids else {}


def cancel(session: Session, task: DataTask) -> None:
    """End it; a worker that is at it notices. Nothing, if it is over."""
    session.refresh(task, with_for_update=True)
    if task.status in AT_WORK:
        end(session, task, TaskStatus.CANCELLED, {"code": "cancelled", "message": "It was cancelled."})


def end(session: Session, task: DataTask, status: TaskStatus, error: dict[str, Any] | None = None) -> None:
    """Write a task's end, which the caller has locked; a version that it was to fill fails with it."""
    told = None if error is None else storable(error) | {"message": message(str(error["message"]))}
    task.status, task.finished_at = status.value, datetime.now(UTC)
    task.worker_id = task.lease_expires_at = None
    task.error = told if status is TaskStatus.FAILED else None
    if status is TaskStatus.DONE:
        task.progress, task.note = 1.0, ""
    session.flush()
    version = session.get(DatasetVersion, task.args.get("version")) if told and task.args.get("version") else None
    if told and version is not None:
        versions.fail(session, version, told)


def argument(name: str) -> ColumnElement[str]:
    """One of a task's arguments, as text."""
    return func.jsonb_extract_path_text(DataTask.args, name)


# How a data worker holds a task: claim it, keep it by a lease, hand it back or end it.
# As with jobs, the lease is judged by the database's clock, and a write of a try that is not the newest is refused.
MOST_TRIES = 3
"""Workers in a row that a task may lose: what kills its worker each time is not tried for ever."""
_LONGEST_NOTE = 200
_IN_THE_BACKGROUND = ("index",)
"""Nobody waits for these."""


@dataclass(frozen=True)
class TaskClaim:
    """A task that is the caller's until the lease ends."""

    task_id: str
    owner_id: str
    kind: str
    args: dict[str, Any]
    attempt: int
    worker_id: str


class TaskCancelled(Exception):
    """Somebody has cancelled the task, or deleted what it was for."""


@dataclass(frozen=True)
class TaskSweep:
    """Tasks whose worker was lost, and how many wait."""

    requeued: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    queued: int = 0


def claim(session: Session, worker_id: str) -> TaskClaim | None:
    """Take the next task: what somebody waits for first, then the owner with the fewest at work, then the oldest."""
    task = session.scalars(_next()).first()
    if task is None:
        return None
    task.status, task.attempt, task.worker_id = TaskStatus.RUNNING.value, task.attempt + 1, worker_id
    task.lease_expires_at = _lease_end()
    task.started_at = task.started_at or datetime.now(UTC)
    task.progress, task.note = 0.0, ""
    session.flush()
    return TaskClaim(task.id, task.owner_id, task.kind, task.args, task.attempt, worker_id)


def renew(session: Session, claim: TaskClaim) -> None:
    """Hold it for another lease. Raises TaskCancelled or LeaseLost: let go at once."""
    held(session, claim).lease_expires_at = _lease_end()
    session.flush()


def tell(session: Session, claim: TaskClaim, progress: float, note: str) -> None:
    """How far it is, from 0 to 1, and at what. Raises as `renew`."""
    task = held(session, claim)
    task.progress, task.note = min(max(progress, 0.0), 1.0), message(note)[:_LONGEST_NOTE]
    session.flush()


def finish(session: Session, claim: TaskClaim, status: TaskStatus, error: dict[str, Any] | None = None) -> None:
    """End it: done, or failed with `{code, message, …}`."""
    end(session, held(session, claim), status, error)


def lose(session: Session, claim: TaskClaim, reason: str) -> None:
    """The worker is there, but the machine failed it: another try, within the same limits as for a lost worker."""
    _take_away(session, held(session, claim), reason)


def release(session: Session, claim: TaskClaim) -> None:
    """Give it back to the queue: the worker stops, which is no fault of the task's and counts as no try."""
    task = held(session, claim)
    task.attempt -= 1
    _requeue(session, task)


def held(session: Session, claim: TaskClaim) -> DataTask:
    """The task, locked, if this try still holds it (fencing)."""
    task = session.get(DataTask, claim.task_id, with_for_update=True, populate_existing=True)
    if task is None or task.status == TaskStatus.CANCELLED:
        raise TaskCancelled(claim.task_id)
    # A try that was given back counts as none, and the next has its number.
    ours = task.attempt == claim.attempt and task.worker_id == claim.worker_id
    if task.status != TaskStatus.RUNNING or not ours:
        raise LeaseLost(f"Try {claim.attempt} no longer holds {claim.task_id}, which is {task.status}.")
    return task


def sweep(session: Session) -> TaskSweep:
    """Take the tasks of lost workers away from them, and count what waits."""
    requeued: list[str] = []
    failed: list[str] = []
    expired = DataTask.status == TaskStatus.RUNNING, DataTask.lease_expires_at < func.clock_timestamp()
    for task in session.scalars(select(DataTask).where(*expired).with_for_update(skip_locked=True)):
        again = _take_away(session, task, f"Worker {task.worker_id} was lost: its lease expired.")
        (requeued if again else failed).append(task.id)
    waiting = select(func.count()).select_from(DataTask).where(DataTask.status == TaskStatus.QUEUED)
    return TaskSweep(requeued, failed, session.scalars(waiting).one())


def somebody_waits(session: Session) -> bool:
    """Whether a task is queued that is more than background work."""
    waiting = DataTask.status == TaskStatus.QUEUED, DataTask.kind.not_in(_IN_THE_BACKGROUND)
    return session.scalars(select(DataTask.id).where(*waiting).limit(1)).first() is not None


def _next() -> Select[DataTask]:
    """Rows that another worker is claiming at this moment are skipped, not waited for."""
    other = aliased(DataTask)
    running = other.owner_id == DataTask.owner_id, other.status == TaskStatus.RUNNING
    at_work = select(func.count()).select_from(other).where(*running).scalar_subquery()
    order = DataTask.kind.in_(_IN_THE_BACKGROUND), at_work, DataTask.created_at, DataTask.id
    query = select(DataTask).where(DataTask.status == TaskStatus.QUEUED).order_by(*order).limit(1)
    return query.with_for_update(skip_locked=True, of=DataTask)


def _take_away(session: Session, task: DataTask, reason: str) -> bool:
    """Whether there is another try."""
    if task.attempt < MOST_TRIES:
        _requeue(session, task)
        return True
    told = f"{reason} This was try {task.attempt}, and the last one."
    end(session, task, TaskStatus.FAILED, {"code": "too_many_attempts", "message": told})
    return False


def _requeue(session: Session, task: DataTask) -> None:
    task.status, task.worker_id, task.lease_expires_at = TaskStatus.QUEUED.value, None, None
    session.flush()


def _lease_end() -> ColumnElement[datetime]:
    return func.clock_timestamp() + timedelta(seconds=get_settings().lease_seconds)
