"""One attempt at a data task, from claim to end."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy.orm import Session

from core import tasks
from core.blobs import BlobStore
from core.errors import LeaseLost, PlatformError, StoreFailed, platform_error
from core.lanes import ONLY_SEAT, Seat
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.tasks import TaskCancelled, TaskClaim
from data.errors import DatasetError
from worker.lease import Lease
from worker.process import DATABASE_UNAVAILABLE, StopRequest, with_retries
from worker.tasks import fetch, index, report, round_items, round_models, validation, versions
from worker.tasks.check_server import CheckServer
from worker.tasks.command import CommandFailed
from worker.tasks.context import ReturnToQueue, TaskContext

HANDLERS: dict[str, Callable[[TaskContext], None]] = {
    "annotation_close": versions.write_answers,
    "annotation_items": round_items.make_items,
    "annotation_scores": round_models.score_items,
    "fetch": fetch.fetch_upload,
    "fix": versions.apply_fixes,
    "import": versions.import_upload,
    "index": index.index_rows,
    "report": report.make_report,
    "validate": validation.validate,
}
"""Handlers by `DataTask.kind`. A worker can be lost at any time, so a handler may run again from its beginning.

A PlatformError from a handler fails the task with its code and detail.
"""
_NOT_HELD = (LeaseLost, TaskCancelled)
log = logging.getLogger(__name__)


def run_attempt(
    claim: TaskClaim,
    settings: Settings,
    blobs: BlobStore,
    stop: StopRequest,
    seat: Seat = ONLY_SEAT,
    checks: CheckServer | None = None,
) -> None:
    """Run the task's handler and store the outcome. Raises nothing that the task causes: the worker goes on."""
    try:
        with Lease(claim.task_id, lambda session: _renew(session, claim), settings) as lease:
            task = TaskContext(claim, lease, stop, settings, blobs, seat, checks)
            error = _run_handler(claim, task)
        if not task.finished:
            _finish(claim, stop, error)
    except ReturnToQueue:
        log.info("%s goes back to the queue", claim.task_id)
        with suppress(*_NOT_HELD):
            with_retries(lambda session: tasks.release(session, claim), lambda: stop.urgent)
    except TaskCancelled:
        log.info("%s was cancelled", claim.task_id)
    except LeaseLost as error:
        log.warning("%s The attempt ends here.", error)
    except (*DATABASE_UNAVAILABLE, OSError) as error:
        # The database, or the disk of the blobs, does not answer. A later attempt may succeed.
        log.error("%s attempt %d: %s", claim.task_id, claim.attempt, error)
        reason = f"The data worker could not store or fetch: {str(error).rstrip('.')}."
        with suppress(*_NOT_HELD):
            with_retries(lambda session: tasks.lose(session, claim, reason), lambda: stop.requested)
        stop.pause(settings.lease_seconds)


def _renew(session: Session, claim: TaskClaim) -> None:
    """Returns no request: a cancelled task raises TaskCancelled instead."""
    tasks.renew(session, claim)


def _run_handler(claim: TaskClaim, task: TaskContext) -> dict[str, Any] | None:
    """The error of a failed task, for people and programs; None if the handler succeeded."""
    handler = HANDLERS.get(claim.kind)
    if handler is None:
        return {"code": "unknown_task", "message": f"This data worker has no handler for tasks of kind {claim.kind!r}."}
    try:
        handler(task)
    except (LeaseLost, StoreFailed):
        raise
    except (PlatformError, DatasetError) as raised:
        error = platform_error(raised) if isinstance(raised, DatasetError) else raised
        log.info("%s (%s) failed: %s", claim.task_id, claim.kind, error)
        code = error.reported_code if isinstance(error, CommandFailed) and error.reported_code else error.code
        more = {name: error.extras[name] for name in ("errors", "error_count") if name in error.extras}
        return {"code": code, "message": error.detail} | more
    except (*DATABASE_UNAVAILABLE, OSError, ReturnToQueue, TaskCancelled):
        raise
    except Exception:  # process boundary: logged here, reported to the user without a stack trace
        log.exception("%s (%s) failed with an unexpected error", claim.task_id, claim.kind)
        return {"code": "internal_error", "message": f"Look for {claim.task_id} in the data worker's log."}
    return None


def _finish(claim: TaskClaim, stop: StopRequest, error: dict[str, Any] | None) -> None:
    status = TaskStatus.SUCCEEDED if error is None else TaskStatus.FAILED
    with_retries(lambda session: tasks.finish(session, claim, status, error), lambda: stop.urgent)
