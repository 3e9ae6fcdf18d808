"""The rate at which a worker stores the metrics of a run."""

import resource
import time
from typing import Any

from benchmarks.gpu_suite.schedule import Place
from benchmarks.platform_suite.local_platform import local_platform
from benchmarks.platform_suite.stored_runs import metric_names, running_job, steps
from core.blobs import blob_store
from core.db import session_scope
from core.masking import Masker
from core.settings import get_settings
from trainer.events import EventLog
from worker.jobs.follow import Follower
from worker.jobs.workspace import workspace_of

_STEPS, _REHEARSED_STEPS = 60_000, 4_000
_NAMES = 40
"""Metrics a step, as PPO reports them."""


def ingest(place: Place) -> dict[str, Any]:
    """`ingest_rows_per_second`: metric rows that one worker stores from a trainer's log, with 40 values each.

    `ingest_rss_growth_mib`: growth of the worker's peak memory after the first tenth of the rows.
    """
    count = _REHEARSED_STEPS if place.rehearsal else _STEPS
    with local_platform(place.folder) as platform:
        with session_scope() as session:
            claim = running_job(session, platform.owner_id, count)
        workspace = workspace_of(claim, get_settings().data_dir)
        workspace.events.parent.mkdir(parents=True, exist_ok=True)
        log = EventLog(workspace.events)
        for event in steps(1, count, count, metric_names(_NAMES)):
            log.emit(event)
        log.close()
        follower = Follower(claim, workspace, blob_store(get_settings()), Masker({}))
        began, early = time.monotonic(), 0
        batches = 0
        while follower.advance():
            batches += 1
            if not early and batches * 500 >= count / 10:
                early = _peak_kib()
        seconds = time.monotonic() - began
        return {
            "ingest_rows_per_second": round(count / seconds, 1),
            "ingest_rss_growth_mib": round((_peak_kib() - early) / 1024, 1),
        }


def _peak_kib() -> int:
    """The peak resident memory of this process, in KiB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
