"""Runs data tasks in tests."""

from core.blobs import blob_store
from core.db import session_scope
from core.models import DataTask
from core.settings import Settings
from worker.process import StopRequest
from worker.tasks.claim import run_queued_tasks


def drain_all(settings: Settings) -> int:
    """Run every queued data task in this process. Returns their number."""
    return run_queued_tasks(settings, blob_store(settings), "dwk_test", StopRequest())


def task(task_id: str) -> DataTask:
    """The task as it is in the database now."""
    with session_scope() as session:
        return session.get_one(DataTask, task_id)
