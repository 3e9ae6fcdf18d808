"""`python -m worker data --slot SLOT`: one process that claims and runs one data task at a time."""

import logging
import os

from core import tasks
from core.blobs import BlobStore, blob_store
from core.broker import DATA_QUEUE, IMPORT_QUEUE, INTERACTIVE_QUEUE
from core.lanes import ONLY_SEAT, Seat, Slot
from core.models.base import new_id
from core.settings import Settings
from worker.health import forget_data_worker, note_data_worker
from worker.process import PeriodicThread, StopRequest, consume_messages, stop_consuming, with_retries
from worker.tasks.attempt import run_attempt
from worker.tasks.check_server import CheckServer

log = logging.getLogger(__name__)


_QUEUES = {
    Slot.ANY: (DATA_QUEUE, IMPORT_QUEUE, INTERACTIVE_QUEUE),
    Slot.INTERACTIVE: (INTERACTIVE_QUEUE,),
    Slot.IMPORTS: (IMPORT_QUEUE,),
    Slot.GENERAL: (DATA_QUEUE,),
}
"""The queues whose messages wake each slot. Two slots of one data worker do not take the messages of each other's tasks."""


def serve(settings: Settings, seat: Seat = ONLY_SEAT) -> int:
    """Run the data tasks of a slot until SIGTERM or SIGINT. Returns the exit status."""
    stop = StopRequest()
    stop.on_signals(also=stop_consuming)
    blobs = blob_store(settings)
    worker_id, checks = f"{seat.data_worker or new_id('dwk')}.{os.getpid()}", CheckServer()
    heartbeat = PeriodicThread("heartbeat", settings.heartbeat_seconds, lambda: _report(settings))
    note_data_worker(settings)
    heartbeat.start()
    try:
        log.info("data worker %s is ready for tasks (slot %s)", worker_id, seat.slot)
        queue, *also = _QUEUES[seat.slot]
        return consume_messages(
            settings.redis_url, queue, lambda: run_queued_tasks(settings, blobs, worker_id, stop, seat, checks), also
        )
    finally:
        heartbeat.stop()
        checks.close()
        forget_data_worker(settings)


def run_queued_tasks(
    settings: Settings,
    blobs: BlobStore,
    worker_id: str,
    stop: StopRequest,
    seat: Seat = ONLY_SEAT,
    checks: CheckServer | None = None,
) -> int:
    """Run tasks until none is queued or a stop is requested. Returns the number of attempts."""
    count = 0
    while not stop.requested:
        claim = with_retries(lambda session: tasks.claim(session, worker_id, seat), lambda: stop.requested)
        if claim is None:
            break
        log.info("%s (%s) claimed as attempt %d", claim.task_id, claim.kind, claim.attempt)
        run_attempt(claim, settings, blobs, stop, seat, checks)
        count += 1
    return count


def _report(settings: Settings) -> bool:
    note_data_worker(settings)
    return True
