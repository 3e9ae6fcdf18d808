"""One try at a data task, from the claim to whatever becomes of it."""

import logging
import time
from contextlib import suppress
from typing import Any

from core import tasks
from core.blobs import BlobStore
from core.errors import LeaseLost, PlatformError, platform_error
from core.models.tasks import TaskStatus
from core.settings import Settings
from core.tasks import TaskCancelled, TaskClaim
from data.errors import DatasetError
from worker.process import AWAY, StopRequest, patiently
from worker.tasks.command import CommandFailed
from worker.tasks.context import TaskRun
from worker.tasks.handlers import HANDLERS
from worker.tasks.lease import Hold, Stopping

_POLL_SECONDS = 0.1
_TAKEN = (LeaseLost, TaskCancelled)
"""Meanwhile: then there is nothing to give back."""
log = logging.getLogger(__name__)


def attempt(claim: TaskClaim, settings: Settings, blobs: BlobStore, stop: StopRequest) -> None:
    """Do it. Whatever it meets, this returns: one file that nobody can read must not end the worker."""
    try:
        with Hold(claim, settings, stop) as hold:
            task = TaskRun(claim, hold, settings, blobs)
            error = _outcome(claim, task)
        if not task.ended:
            _finish(claim, stop, error)
    except Stopping:
        log.info("%s goes back to the queue", claim.task_id)
        with suppress(*_TAKEN):
            patiently(lambda session: tasks.release(session, claim), lambda: stop.urgent)
    except TaskCancelled:
        log.info("%s was cancelled", claim.task_id)
    except LeaseLost as error:
        log.warning("%s; walking away", error)
    except (*AWAY, OSError) as error:
        # The database was away, or the disk that the blobs are on: a while later it may go better.
        log.error("%s try %d: %s", claim.task_id, claim.attempt, error)
        reason = f"The data worker could not store or fetch: {error}."
        with suppress(*_TAKEN):
            patiently(lambda session: tasks.lose(session, claim, reason), lambda: stop.requested)
        _rest(settings.lease_seconds, stop)


def _outcome(claim: TaskClaim, task: TaskRun) -> dict[str, Any] | None:
    """The error of one that failed, for people and programs; None of one that is done."""
    handler = HANDLERS.get(claim.kind)
    if handler is None:
        return {"code": "unknown_task", "message": f"This data worker does not know tasks of the kind {claim.kind!r}."}
    try:
        handler(task)
    except LeaseLost:
        raise
    except (PlatformError, DatasetError) as raised:
        error = platform_error(raised) if isinstance(raised, DatasetError) else raised
        log.info("%s (%s) failed: %s", claim.task_id, claim.kind, error)
        code = error.told_code if isinstance(error, CommandFailed) and error.told_code else error.code
        more = {name: error.extras[name] for name in ("errors", "error_count") if name in error.extras}
        return {"code": code, "message": error.detail} | more
    except (*AWAY, OSError, Stopping, TaskCancelled):
        raise
    except Exception:  # the edge of the process: logged, and told without a stack trace
        log.exception("%s (%s) met what nobody expected", claim.task_id, claim.kind)
        return {"code": "internal_error", "message": f"Look for {claim.task_id} in the data worker's log."}
    return None


def _finish(claim: TaskClaim, stop: StopRequest, error: dict[str, Any] | None) -> None:
    status = TaskStatus.DONE if error is None else TaskStatus.FAILED
    patiently(lambda session: tasks.finish(session, claim, status, error), lambda: stop.urgent)


def _rest(seconds: float, stop: StopRequest) -> None:
    deadline = time.monotonic() + seconds
    while not stop.requested and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
