"""Data tasks: imports, search indexes, reports and other work on data, as rows of a table that is the queue.

A message only wakes a data worker. Claims, leases and fencing are those of core/leasing.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from core import lanes
from core.broker import DATA_QUEUE, IMPORT_QUEUE, INTERACTIVE_QUEUE, wake_worker
from core.db import after_commit, storable_message
from core.errors import NotFound
from core.lanes import ONLY_SEAT, Seat
from core.leasing import LeasedQueue, SweepResult
from core.models import DatasetVersion, DataTask
from core.models.base import new_id
from core.models.datasets import VersionStatus
from core.models.tasks import TaskStatus
from core.settings import get_settings
from core.webhooks import outbox
from core.webhooks.event_types import EventType, dataset_data
from data.parse import storable

UNFINISHED = (TaskStatus.QUEUED, TaskStatus.RUNNING)
MOST_ATTEMPTS = 3
"""How many workers in a row a task may lose. A task that kills its worker every time then fails."""
_MOST_LISTED = 100
_LONGEST_NOTE = 200


@dataclass(frozen=True)
class TaskClaim:
    """An attempt that has begun. The data worker holds the task until the lease expires."""

    task_id: str
    owner_id: str
    kind: str
    args: dict[str, Any]
    attempt: int
    worker_id: str


class TaskCancelled(Exception):
    """The task was cancelled, or the dataset or round that it was for was deleted."""


class TaskQueue(LeasedQueue[DataTask]):
    """The table `data_tasks` as a queue in the order of core/lanes.py."""

    model = DataTask
    leased = (TaskStatus.RUNNING,)

    def start(self, session: Session, row: DataTask, lease: Mapping[str, Any]) -> None:
        row.status, row.progress, row.note = TaskStatus.RUNNING.value, 0.0, ""
        for name, value in lease.items():
            setattr(row, name, value)

    def take_away(self, session: Session, row: DataTask, reason: str) -> TaskStatus:
        if row.attempt < MOST_ATTEMPTS:
            requeue(session, row)
            return TaskStatus.QUEUED
        text = f"{reason} This was attempt {row.attempt}, the last one."
        end(session, row, TaskStatus.FAILED, {"code": "too_many_attempts", "message": text})
        return TaskStatus.FAILED


_QUEUE = TaskQueue()


def enqueue(session: Session, owner_id: str, kind: str, args: dict[str, Any]) -> DataTask:
    """Queue a task, and wake a data worker after the commit.

    Two arguments have a meaning here. `dataset` is the id of the dataset that lists the task. `version` is the id of a
    version that fails with the task if it is still importing.
    """
    status = TaskStatus.QUEUED.value
    task = DataTask(id=new_id("dt"), owner_id=owner_id, kind=kind, args=storable(args), status=status)
    task.progress, task.note, task.attempt = 0.0, "", 0
    session.add(task)
    session.flush()
    redis_url, queues = get_settings().redis_url, queues_of(kind)
    after_commit(session, lambda: [wake_worker(redis_url, queue) for queue in queues])
    return task


def queues_of(kind: str) -> Sequence[str]:
    """The queues whose slots may run a task of this kind. A message that finds no task to run does no harm."""
    if kind in lanes.INTERACTIVE:
        return INTERACTIVE_QUEUE, IMPORT_QUEUE, DATA_QUEUE
    return (DATA_QUEUE,) if kind in (*lanes.REPORTS, *lanes.BACKGROUND) else (IMPORT_QUEUE, DATA_QUEUE)


def get(session: Session, owner_id: str, task_id: str) -> DataTask:
    """The owner's task. Raises NotFound."""
    task = session.scalars(select(DataTask).filter_by(id=task_id, owner_id=owner_id)).one_or_none()
    if task is None:
        raise NotFound(f"There is no task {task_id!r}.")
    return task


def tasks_of_dataset(session: Session, owner_id: str, dataset_id: str) -> Sequence[DataTask]:
    """The newest hundred tasks of a dataset, newest first."""
    query = select(DataTask).where(DataTask.owner_id == owner_id, argument("dataset") == dataset_id)
    return session.scalars(query.order_by(DataTask.created_at.desc(), DataTask.id).limit(_MOST_LISTED)).all()


def tasks_by_version(session: Session, version_ids: Sequence[str]) -> dict[str, DataTask]:
    """For each of these importing versions, the unfinished task that makes it."""
    query = select(DataTask).where(DataTask.status.in_(UNFINISHED), argument("version").in_(version_ids))
    return {task.args["version"]: task for task in session.scalars(query)} if version_ids else {}


def argument(name: str) -> ColumnElement[str]:
    """SQL of one of a task's arguments, as text."""
    return func.jsonb_extract_path_text(DataTask.args, name)


def cancel(session: Session, task: DataTask) -> None:
    """End an unfinished task. The worker that runs it notices at its next report of progress."""
    session.refresh(task, with_for_update=True)
    if task.status in UNFINISHED:
        end(session, task, TaskStatus.CANCELLED, {"code": "cancelled", "message": "It was cancelled."})


def end(session: Session, task: DataTask, status: TaskStatus, error: dict[str, Any] | None = None) -> None:
    """Write the end of a task that the caller has locked. With an error, the version that it makes fails as well."""
    stored = None if error is None else storable(error) | {"message": storable_message(str(error["message"]))}
    task.status, task.finished_at = status.value, datetime.now(UTC)
    task.worker_id = task.lease_expires_at = None
    task.error = stored if status is TaskStatus.FAILED else None
    if status is TaskStatus.SUCCEEDED:
        task.progress, task.note = 1.0, ""
    session.flush()
    if stored is not None and (version_id := task.args.get("version")) is not None:
        _fail_version(session, version_id, stored)


def _fail_version(session: Session, version_id: str, error: dict[str, Any]) -> None:
    """Store the error in a version that is still importing. A version that is ready, blocked or deleted is left alone."""
    query = select(DatasetVersion).filter_by(id=version_id).with_for_update(of=DatasetVersion)
    version = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if version is not None and version.status == VersionStatus.IMPORTING:
        version.status, version.error = VersionStatus.FAILED.value, error
        session.flush()
        dataset = version.dataset
        outbox.record(
            session, dataset.owner_id, EventType.DATASET_FAILED, dataset.id, lambda: dataset_data(dataset, version)
        )


def claim(session: Session, worker_id: str, seat: Seat = ONLY_SEAT) -> TaskClaim | None:
    """Start an attempt at the next queued task that may run in this slot; None if no such task is queued."""
    task = _QUEUE.claim(session, worker_id, lanes.next_task(seat))
    if task is None:
        return None
    return TaskClaim(task.id, task.owner_id, task.kind, task.args, task.attempt, worker_id)


def held(session: Session, claim: TaskClaim) -> DataTask:
    """The task, locked until the commit. Raises TaskCancelled, or LeaseLost unless the claim still holds it."""
    task = session.get(DataTask, claim.task_id, with_for_update=True, populate_existing=True)
    if task is None or task.status == TaskStatus.CANCELLED:
        raise TaskCancelled(claim.task_id)
    return _QUEUE.held(session, claim.task_id, claim.attempt, claim.worker_id)


def refuse_cancelled(session: Session, claim: TaskClaim) -> None:
    """Raise TaskCancelled if the task was cancelled or deleted. Locks nothing, unlike `held`."""
    status = session.scalars(select(DataTask.status).filter_by(id=claim.task_id)).one_or_none()
    if status in (None, TaskStatus.CANCELLED):
        raise TaskCancelled(claim.task_id)


def renew(session: Session, claim: TaskClaim) -> None:
    """Extend the lease. Raises TaskCancelled or LeaseLost."""
    _QUEUE.renew(session, held(session, claim))


def report_progress(session: Session, claim: TaskClaim, progress: float, note: str) -> None:
    """Store the progress, from 0 to 1, and a note for people. Raises TaskCancelled or LeaseLost."""
    task = held(session, claim)
    task.progress, task.note = min(max(progress, 0.0), 1.0), storable_message(note)[:_LONGEST_NOTE]
    session.flush()


def finish(session: Session, claim: TaskClaim, status: TaskStatus, error: dict[str, Any] | None = None) -> None:
    """End the task as done, or as failed with `{code, message, …}`. Raises TaskCancelled or LeaseLost."""
    end(session, held(session, claim), status, error)


def lose(session: Session, claim: TaskClaim, reason: str) -> None:
    """End the attempt as if its worker had been lost, with the same limit of attempts.

    For a worker that still runs, but whose machine failed the task.
    """
    _QUEUE.take_away(session, held(session, claim), reason)


def release(session: Session, claim: TaskClaim) -> None:
    """Give the task back to the queue. The attempt does not count."""
    task = held(session, claim)
    task.attempt -= 1
    requeue(session, task)


def requeue(session: Session, task: DataTask) -> None:
    """Put a locked task back into the queue."""
    task.status, task.worker_id, task.lease_expires_at = TaskStatus.QUEUED.value, None, None
    session.flush()


def sweep(session: Session) -> SweepResult:
    """Take tasks with an expired lease away from their workers, and list the queued tasks."""
    return _QUEUE.sweep(session)


def foreground_task_waits(session: Session, seat: Seat = ONLY_SEAT) -> bool:
    """Whether a queued task that is more urgent than background work could run in this slot."""
    return session.scalars(select(DataTask.id).where(lanes.waits_for(seat)).limit(1)).first() is not None
