"""What a knock on the door leads to."""

import logging
import time

from core import jobs
from worker.health import Presence
from worker.jobs.attempt import Station, run
from worker.process import patiently

_POLL_SECONDS = 0.1
log = logging.getLogger(__name__)


def drain(station: Station, presence: Presence) -> int:
    """Run jobs until none is queued or we are asked to stop; answer how many."""
    count = 0
    while not station.stop.requested:
        claim = patiently(lambda session: jobs.claim(session, presence.worker_id), lambda: station.stop.requested)
        if claim is None:
            break
        log.info("%s claimed as attempt %d", claim.job_id, claim.attempt)
        presence.works_on(claim.job_id)
        try:
            did_its_part = run(claim, station)
        finally:
            presence.works_on(None)
        count += 1
        if not did_its_part:
            _rest(station)
    return count


def _rest(station: Station) -> None:
    """As long as a lost worker is waited for: tries in a row must outlast a short trouble, and others may go first."""
    deadline = time.monotonic() + station.settings.lease_seconds
    while not station.stop.requested and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
