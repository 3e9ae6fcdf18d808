"""Data tasks: what is to be done to data, as rows of a table that is the queue. A message only says that one is there."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from core.datasets import versions
from core.db import after_commit
from core.errors import NotFound
from core.ids import new_id
from core.models import DatasetVersion, DataTask
from core.models.data_task import TaskStatus
from core.queue import DATA_QUEUE, knock
from core.settings import get_settings
from core.storable import message, storable

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
