"""`python -m worker data`: one process, one data task at a time, beside the workers that run jobs."""

import logging

from celery.worker import WorkController, state  # type: ignore[import-untyped]

from core import tasks
from core.blobs import BlobStore, blob_store
from core.broker import DATA_QUEUE, DATA_TASK, celery_app, knock
from core.models.base import new_id
from core.settings import Settings
from worker.health import forget_data_worker, note_data_worker
from worker.process import Beat, StopRequest, patiently
from worker.tasks.attempt import attempt

log = logging.getLogger(__name__)


def serve(settings: Settings) -> int:
    """Answer knocks until asked to stop; answer the exit status. Celery's bare controller, as in worker/jobs/app.py."""
    app = celery_app(settings.redis_url)
    app.conf.update(broker_connection_max_retries=None, worker_enable_remote_control=False)
    stop = StopRequest()
    stop.on_signals(also=_stop_celery)
    blobs = blob_store(settings)
    worker_id = new_id("dwk")
    alive = Beat("alive", settings.heartbeat_seconds, lambda: _show(settings))
    note_data_worker(settings)
    alive.start()
    try:

        @app.task(name=DATA_TASK)  # type: ignore[untyped-decorator]
        def run_next_data_task() -> int:
            return drain(settings, blobs, worker_id, stop)

        log.info("data worker %s is ready for tasks", worker_id)
        controller = WorkController(
            app=app,
            queues=[DATA_QUEUE],
            pool="solo",
            concurrency=1,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            # Tasks may have been waiting for a worker to come, or for the broker to come back.
            ready_callback=lambda _: knock(settings.redis_url, DATA_QUEUE),
        )
        controller.start()
    finally:
        alive.stop()
        forget_data_worker(settings)
    return int(controller.exitcode or 0)


def drain(settings: Settings, blobs: BlobStore, worker_id: str, stop: StopRequest) -> int:
    """Do tasks until none is queued or we are asked to stop; answer how many."""
    count = 0
    while not stop.requested:
        claim = patiently(lambda session: tasks.claim(session, worker_id), lambda: stop.requested)
        if claim is None:
            break
        log.info("%s (%s) claimed, try %d", claim.task_id, claim.kind, claim.attempt)
        attempt(claim, settings, blobs, stop)
        count += 1
    return count


def _show(settings: Settings) -> bool:
    note_data_worker(settings)
    return True


def _stop_celery() -> None:
    state.should_stop = 0
