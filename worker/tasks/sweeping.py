"""The data side of the sweeper: lost tasks, lost messages, and whatever is past its time."""

import logging
import time

from core import tasks, uploads
from core.blobs import blob_store
from core.broker import DATA_QUEUE, knock, knocks_waiting
from core.datasets import retention
from core.datasets.orphans import remove_orphans
from core.db import session_scope
from core.errors import DatasetInUse, NotFound
from core.settings import Settings
from core.tasks import TaskSweep

_ORPHANS_SECONDS = 3600.0
log = logging.getLogger(__name__)


def sweep_data(settings: Settings) -> TaskSweep:
    """Once; every few seconds, anywhere, by as many as like."""
    blobs = blob_store(settings)
    with session_scope() as session:
        found = tasks.sweep(session)
    with session_scope() as session:
        abandoned = uploads.sweep(session, blobs)
    with session_scope() as session:
        past = retention.expired(session)
    for dataset_id in past:
        try:
            with session_scope() as session:
                retention.delete(session, blobs, dataset_id)
        except (NotFound, DatasetInUse) as error:  # somebody was quicker
            log.info("%s stays or is gone: %s", dataset_id, error)
    told = {
        "requeued": found.requeued,
        "failed": found.failed,
        "uploads abandoned": abandoned,
        "datasets expired": past,
    }
    for kind, ids in told.items():
        if ids:
            log.warning("%s: %s", kind, ", ".join(ids))
    # One knock is enough to have a worker look, and more would pile up while all are busy.
    if found.queued and not knocks_waiting(settings.redis_url, DATA_QUEUE):
        knock(settings.redis_url, DATA_QUEUE)
    return found


class Orphans:
    """Looks once an hour for blobs that no row knows, and removes what was already so an hour before."""

    def __init__(self) -> None:
        self._suspects: set[str] = set()
        self._next = time.monotonic()

    def look(self, settings: Settings) -> None:
        if time.monotonic() >= self._next:
            self._suspects = remove_orphans(blob_store(settings), self._suspects)
            self._next = time.monotonic() + _ORPHANS_SECONDS
