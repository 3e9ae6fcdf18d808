"""`python -m worker`: one process that claims and runs one job at a time, in the main thread."""

import logging
from contextlib import ExitStack

from core.blobs import blob_store
from core.broker import JOB_QUEUE, job_queue
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.attempts import Claim
from core.settings import Settings
from worker.health import WorkerHeartbeat
from worker.identity import lasting_identity
from worker.jobs.attempt import run_attempt
from worker.jobs.context import WorkerContext
from worker.jobs.launch.interface import Launcher
from worker.jobs.old_folders import remove_old_folders, removing_old_folders
from worker.process import StopRequest, consume_messages, stop_consuming, with_retries

_ENGINE_PAUSE = 1.0
log = logging.getLogger(__name__)


def serve(settings: Settings, launcher: Launcher) -> int:
    """Run jobs until SIGTERM or SIGINT. Returns the exit status."""
    stop = StopRequest()
    stop.on_signals(also=stop_consuming)
    worker = WorkerContext(settings, blob_store(settings), launcher, stop)
    with_retries(lambda session: remove_old_folders(session, settings), lambda: stop.requested)
    with ExitStack() as stack:
        worker_id = stack.enter_context(lasting_identity(settings)) if launcher.outlives_worker else None
        own = WorkerHeartbeat(settings, launcher.report(settings), worker_id, launcher.engine_report)
        heartbeat = stack.enter_context(own)
        stack.enter_context(removing_old_folders(settings))
        if launcher.outlives_worker:
            continue_attempts(worker, heartbeat)
            wait_for_engine(worker, heartbeat)
        if stop.requested:
            return 0
        queue = job_queue(heartbeat.machine.capacity.class_name)
        log.info("worker %s is ready for jobs, on queue %s", heartbeat.worker_id, queue)
        return consume_messages(settings.redis_url, queue, lambda: run_queued_jobs(worker, heartbeat), [JOB_QUEUE])


def continue_attempts(worker: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    """Follow the attempts that an earlier process of this worker has begun."""
    held = with_retries(lambda session: attempts.claims_of(session, heartbeat.worker_id), lambda: worker.stop.requested)
    for claim in held:
        if not worker.stop.requested:
            log.info("%s attempt %d was begun by an earlier process of this worker", claim.job_id, claim.attempt)
            _run_claimed(claim, worker, heartbeat)


def wait_for_engine(worker: WorkerContext, heartbeat: WorkerHeartbeat) -> None:
    """Return once the launcher's engine accepts jobs, or the worker must end. Then report what the engine offers."""
    while not worker.stop.requested and _problem(worker):
        worker.stop.pause(_ENGINE_PAUSE)
    heartbeat.set_machine(worker.launcher.report(worker.settings))


def _problem(worker: WorkerContext) -> str | None:
    report = worker.launcher.engine_report()
    return None if report is None else report.problem


def _run_claimed(claim: Claim, worker: WorkerContext, heartbeat: WorkerHeartbeat) -> bool:
    """Returns False if this machine failed the attempt."""
    heartbeat.set_job(claim.job_id)
    try:
        return run_attempt(claim, worker)
    finally:
        heartbeat.set_job(None)


def run_queued_jobs(worker: WorkerContext, heartbeat: WorkerHeartbeat) -> int:
    """Run jobs until none is queued or a stop is requested. Returns the number of attempts."""
    count, stop = 0, worker.stop
    own = (heartbeat.worker_id, heartbeat.machine.capacity)
    while not stop.requested and not _problem(worker):
        claim = with_retries(lambda session: attempts.claim(session, *own), lambda: stop.requested)
        if claim is None:
            break
        log.info("%s claimed as attempt %d", claim.job_id, claim.attempt)
        machine_worked = _run_claimed(claim, worker, heartbeat)
        count += 1
        if not machine_worked:
            # The time of a lease: the attempts must outlast a short failure, and another worker may take the job.
            stop.pause(worker.settings.lease_seconds)
    return count
