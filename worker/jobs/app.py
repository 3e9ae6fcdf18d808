"""The Celery worker: one process, one job at a time, in the main thread."""

import logging

from celery.worker import WorkController, state  # type: ignore[import-untyped]

from core.blobs import blob_store
from core.broker import TASK, celery_app, knock
from core.settings import Settings
from worker.health import Presence
from worker.jobs.attempt import Station
from worker.jobs.claim import drain
from worker.jobs.launch import Launcher
from worker.jobs.workspace import clear_away
from worker.process import StopRequest, patiently

log = logging.getLogger(__name__)


def serve(settings: Settings, launcher: Launcher) -> int:
    """Answer knocks until asked to stop; answer the exit status.

    Celery's bare controller is used, without the signal handlers of its command line: those would leave a solo worker
    deaf until the present job ends, which may be days.
    """
    app = celery_app(settings.redis_url)
    # A broker that is away must not end the worker, however long it takes.
    app.conf.update(broker_connection_max_retries=None, worker_enable_remote_control=False)
    stop = StopRequest()
    stop.on_signals(also=_stop_celery)
    station = Station(settings, blob_store(settings), launcher, stop)
    patiently(lambda session: clear_away(session, settings.data_dir), lambda: stop.requested)
    with Presence(settings) as presence:

        @app.task(name=TASK)  # type: ignore[untyped-decorator]
        def run_next_job() -> int:
            return drain(station, presence)

        log.info("worker %s is ready for jobs", presence.worker_id)
        controller = WorkController(
            app=app,
            pool="solo",
            concurrency=1,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            # Jobs may have been waiting for a worker to come, or for the broker to come back.
            ready_callback=lambda _: knock(settings.redis_url),
        )
        controller.start()
    return int(controller.exitcode or 0)


def _stop_celery() -> None:
    state.should_stop = 0
