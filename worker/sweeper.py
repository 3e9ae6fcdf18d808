"""The loop that puts right what lost workers and lost messages leave behind."""

import logging
import time

from core import jobs
from core.broker import knock
from core.db import session_scope
from core.jobs import workers
from core.settings import Settings
from worker.health import note_sweep
from worker.process import AWAY, StopRequest
from worker.tasks.sweeping import Orphans, sweep_data

_POLL_SECONDS = 0.1
log = logging.getLogger(__name__)


def sweep_for_ever(settings: Settings) -> int:
    """Sweep every few seconds until asked to stop."""
    stop = StopRequest()
    stop.on_signals()
    orphans = Orphans()
    log.info("sweeping every %g s", settings.sweep_seconds)
    while not stop.requested:
        try:
            sweep_once(settings)
            sweep_data(settings)
            orphans.look(settings)
            note_sweep(settings)
        except AWAY as error:
            log.warning("the database does not answer: %s", error)
        except OSError as error:
            log.warning("the blobs cannot be reached: %s", error)
        _pause(settings.sweep_seconds, stop)
    return 0


def sweep_once(settings: Settings) -> jobs.SweepResult:
    """Sweep, and knock for what waits: once for each idle worker, so that messages do not pile up for busy ones."""
    with session_scope() as session:
        result = jobs.sweep(session)
        idle = sum(worker.job_id is None for worker in workers.online(session))
    for kind in ("requeued", "failed", "cancelled", "workers_gone"):
        if found := getattr(result, kind):
            log.warning("%s: %s", kind, ", ".join(found))
    for _ in range(min(idle, len(result.queued))):
        knock(settings.redis_url)
    return result


def _pause(seconds: float, stop: StopRequest) -> None:
    deadline = time.monotonic() + seconds
    while not stop.requested and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
