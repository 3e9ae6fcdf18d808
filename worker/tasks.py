"""What a knock on the door leads to."""

import logging

from core import jobs
from worker.database import patiently
from worker.presence import Presence
from worker.runner import Station, run

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
            run(claim, station)
        finally:
            presence.works_on(None)
        count += 1
    return count
