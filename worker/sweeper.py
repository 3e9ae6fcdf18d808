"""`python -m worker sweep`: repairs the effects of lost workers and lost messages, and deletes expired data."""

import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core import idempotency, tasks
from core.audit.retention import projects_with_old_rows, remove_old_rows
from core.blobs import BlobStore, blob_store
from core.broker import DATA_QUEUE, IMPORT_QUEUE, INTERACTIVE_QUEUE, waiting_wakeups, wake_worker
from core.datasets import retention
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.errors import DatasetInUse, JobNotEnded, NotFound
from core.jobs.checkpoints.old_checkpoints import delete_old_checkpoints, jobs_with_old_checkpoints
from core.jobs.groups.groups import release_held_jobs
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.preemption import preempt_jobs
from core.jobs.queue import workers
from core.jobs.queue.waking import wake_idle_workers
from core.jobs.run.thinning import jobs_with_old_metrics, thin_metrics
from core.leasing import SweepResult
from core.scheduling.lines import repair_lines
from core.scheduling.shares import repair_shares
from core.settings import Settings
from core.uploads.store import sweep_uploads
from core.webhooks.deliveries import delete_old
from worker.health import note_sweep
from worker.process import DATABASE_UNAVAILABLE, PeriodicThread, StopRequest

_HOUR = 3600.0
log = logging.getLogger(__name__)


def sweep_until_stopped(settings: Settings) -> int:
    """Sweep every few seconds until SIGTERM or SIGINT. Returns the exit status."""
    stop = StopRequest()
    stop.on_signals()
    hourly = HourlySweep()
    log.info("sweeping every %g s", settings.sweep_seconds)
    while not stop.requested:
        _sweep(settings, hourly)
        stop.pause(settings.sweep_seconds)
    return 0


@contextmanager
def sweeping(settings: Settings) -> Iterator[None]:
    """Sweep in a thread of this process, which saves the memory of another one.

    An unexpected error ends the process, as it would end a sweeper of its own. The supervisor starts it again.
    """
    hourly = HourlySweep()

    def action() -> bool:
        failed = True
        try:
            _sweep(settings, hourly)
            failed = False
        finally:
            if failed:
                os.kill(os.getpid(), signal.SIGTERM)
        return True

    thread = PeriodicThread("sweeper", settings.sweep_seconds, action)
    log.info("sweeping every %g s", settings.sweep_seconds)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


def _sweep(settings: Settings, hourly: "HourlySweep") -> None:
    try:
        sweep_jobs(settings)
        sweep_data(settings)
        hourly.sweep(settings)
        note_sweep(settings)
    except DATABASE_UNAVAILABLE as error:
        log.warning("the database does not answer: %s", error)
    except OSError as error:
        log.warning("the sweep could not read or write the blob store or a file: %s", error)


def sweep_jobs(settings: Settings) -> SweepResult:
    """Sweep once, and send one message for each idle worker, so that none pile up for busy ones."""
    with session_scope() as session:
        gone = workers.remove_silent_workers(session)
        result = attempts.sweep(session)
        repaired = repair_shares(session)
        repair_lines(session)
        released = release_held_jobs(session)
        preempted = preempt_jobs(session, settings)
        if result.queued or released:
            wake_idle_workers(session, settings.redis_url)
    _log_ids(
        requeued=result.requeued,
        failed=result.failed,
        cancelled=result.cancelled,
        workers_gone=gone,
        owners_recounted=repaired,
        preempted=preempted,
    )
    return result


def sweep_data(settings: Settings) -> SweepResult:
    """Sweep data tasks, uploads, stored responses and expired datasets once. Any number of sweepers may run at once."""
    blobs = blob_store(settings)
    with session_scope() as session:
        result = tasks.sweep(session)
    with session_scope() as session:
        uploads = sweep_uploads(session, blobs)
    with session_scope() as session:
        idempotency.sweep(session)
    with session_scope() as session:
        expired = retention.expired(session)
    for dataset_id in expired:
        try:
            with session_scope() as session:
                retention.delete(session, blobs, dataset_id)
        except (NotFound, DatasetInUse) as error:  # changed since the query
            log.info("%s was not deleted: %s", dataset_id, error)
    _log_ids(requeued=result.requeued, failed=result.failed, uploads_expired=uploads, datasets_expired=expired)
    # One message is enough to wake a worker. More would pile up while all workers are busy.
    for queue in (DATA_QUEUE, IMPORT_QUEUE, INTERACTIVE_QUEUE):
        if result.queued and not waiting_wakeups(settings.redis_url, queue):
            wake_worker(settings.redis_url, queue)
    return result


class HourlySweep:
    """Removes blobs without a row, old checkpoints, the exact steps of old metrics, old deliveries of webhooks and old rows of the audit log,
    once an hour.

    A blob is removed if it was an orphan an hour before as well.
    """

    def __init__(self) -> None:
        self._suspects: set[str] = set()
        self._next = time.monotonic()

    def sweep(self, settings: Settings) -> None:
        if time.monotonic() >= self._next:
            sweep_old_checkpoints(settings)
            sweep_old_metrics(settings)
            sweep_old_deliveries(settings)
            sweep_audit_log(settings)
            self._suspects = remove_orphans(blob_store(settings), self._suspects)
            self._next = time.monotonic() + _HOUR


def sweep_old_checkpoints(settings: Settings) -> None:
    """Delete the old checkpoints of every job that has some, each job in its own transaction."""
    if settings.checkpoint_days is None:
        return
    blobs, days = blob_store(settings), settings.checkpoint_days
    while True:
        with session_scope() as session:
            job_ids = jobs_with_old_checkpoints(session, days)
        counts = {job_id: _delete_old_checkpoints(blobs, job_id, days) for job_id in job_ids}
        _log_ids(old_checkpoints_deleted=[job_id for job_id, count in counts.items() if count])
        if not any(counts.values()):
            return


def _delete_old_checkpoints(blobs: BlobStore, job_id: str, days: float) -> int:
    try:
        with session_scope() as session:
            return delete_old_checkpoints(session, blobs, job_id, days)
    except (NotFound, JobNotEnded) as error:  # changed since the query
        log.info("no checkpoint of %s was deleted: %s", job_id, error)
        return 0


def sweep_old_metrics(settings: Settings) -> None:
    """Thin the metrics of every job that ended long ago, each job in its own transaction."""
    if settings.metric_days is None:
        return
    after = ""
    while True:
        with session_scope() as session:
            job_ids = jobs_with_old_metrics(session, settings.metric_days, after)
        if not job_ids:
            return
        _log_ids(metrics_thinned=[job_id for job_id in job_ids if _thin_metrics(job_id, settings.metric_days)])
        after = job_ids[-1]


def _thin_metrics(job_id: str, days: float) -> int:
    try:
        with session_scope() as session:
            return thin_metrics(session, job_id, days)
    except (NotFound, JobNotEnded) as error:  # changed since the query
        log.info("the metrics of %s were not thinned: %s", job_id, error)
        return 0


def sweep_old_deliveries(settings: Settings) -> None:
    """Delete the old deliveries of webhooks, some at a time."""
    deleted = True
    while deleted:
        with session_scope() as session:
            deleted = delete_old(session, settings.webhook_days) > 0


def sweep_audit_log(settings: Settings) -> None:
    """Remove the old rows of each project's audit log, in transactions of some thousand rows."""
    if settings.audit_days is None:
        return
    with session_scope() as session:
        project_ids = projects_with_old_rows(session, settings.audit_days)
    for project_id in project_ids:
        count = 1
        while count:
            with session_scope() as session:
                count = remove_old_rows(session, project_id, settings.audit_days)
    _log_ids(audit_rows_removed_of=list(project_ids))


def _log_ids(**ids: list[str]) -> None:
    for kind, found in ids.items():
        if found:
            log.warning("%s: %s", kind, ", ".join(found))
