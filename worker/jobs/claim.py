"""`python -m worker`: one process that claims and runs one job at a time, in the main thread."""

import logging

from core.blobs import blob_store
from core.broker import JOB_QUEUE, job_queue
from core.jobs.lifecycle import attempts
from core.settings import Settings
from worker.health import WorkerHeartbeat
from worker.jobs.attempt import run_attempt
from worker.jobs.context import WorkerContext
from worker.jobs.launch import Launcher
from worker.jobs.old_folders import remove_old_folders, removing_old_folders
from worker.process import StopRequest, consume_messages, stop_consuming, with_retries

log = logging.getLogger(__name__)


def serve(settings: Settings, launcher: Launcher) -> int:
    """Run jobs until SIGTERM or SIGINT. Returns the exit status."""
    stop = StopRequest()
    stop.on_signals(also=stop_consuming)
    worker = WorkerContext(settings, blob_store(settings), launcher, stop)
    with_retries(lambda session: remove_old_folders(session, settings), lambda: stop.requested)
    with WorkerHeartbeat(settings) as heartbeat, removing_old_folders(settings):
        queue = job_queue(heartbeat.machine.capacity.class_name)
        log.info("worker %s is ready for jobs, on queue %s", heartbeat.worker_id, queue)
        return consume_messages(settings.redis_url, queue, lambda: run_queued_jobs(worker, heartbeat), [JOB_QUEUE])


def run_queued_jobs(worker: WorkerContext, heartbeat: WorkerHeartbeat) -> int:
    """Run jobs until none is queued or a stop is requested. Returns the number of attempts."""
    count, stop = 0, worker.stop
    own = (heartbeat.worker_id, heartbeat.machine.capacity)
    while not stop.requested:
        claim = with_retries(lambda session: attempts.claim(session, *own), lambda: stop.requested)
        if claim is None:
            break
        log.info("%s claimed as attempt %d", claim.job_id, claim.attempt)
        heartbeat.set_job(claim.job_id)
        try:
            machine_worked = run_attempt(claim, worker)
        finally:
            heartbeat.set_job(None)
        count += 1
        if not machine_worked:
            # The time of a lease: the attempts must outlast a short failure, and another worker may take the job.
            stop.pause(worker.settings.lease_seconds)
    return count
