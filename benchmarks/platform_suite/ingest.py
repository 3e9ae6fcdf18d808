"""The rate at which a worker stores the metrics of a run."""

import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from benchmarks.platform_suite.stored_runs import metric_names, running_job, steps
from core.blobs import blob_store
from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.masking import Masker
from core.models import Job
from core.settings import get_settings
from trainer.events import EventLog
from worker.jobs.follow import Follower
from worker.jobs.workspace import workspace_of

_STEPS, _REHEARSED_STEPS = 60_000, 4_000
_RATE = 2_000.0
_SUSTAINED_SECONDS, _REHEARSED_SUSTAINED_SECONDS = 600.0, 2.0
_LOOK_SECONDS = 0.1
_NAMES = 40
"""Metrics a step, as PPO reports them."""


def ingest(place: Place) -> dict[str, Any]:
    """`ingest_rows_per_second`: metric rows that one worker stores from a trainer's log, with 40 values each.

    `ingest_rss_growth_mib`: growth of the worker's peak memory after the first tenth of the rows.
    """
    count = _REHEARSED_STEPS if place.rehearsal else _STEPS
    with local_platform(place.folder) as platform:
        _, follower, events = _followed_run(platform, count)
        _emit(events, count, None)
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


def sustained_ingest(place: Place) -> dict[str, Any]:
    """Ten minutes of a trainer that reports 2,000 rows a second, while a worker stores them and looks ten times a second.

    `sustained_rows_per_second`: rows, over the time from the first to the last stored one. `sustained_delay_max_s`: the
    longest time by which the worker was behind. `sustained_rss_growth_mib`: growth of its peak memory after a tenth of the time.
    """
    seconds = _REHEARSED_SUSTAINED_SECONDS if place.rehearsal else _SUSTAINED_SECONDS
    count = int(_RATE * seconds)
    with local_platform(place.folder) as platform:
        claim, follower, events = _followed_run(platform, count)
        before = _last_seq(claim)
        trainer = multiprocessing.get_context("fork").Process(target=_emit, args=(events, count, _RATE), daemon=True)
        trainer.start()
        began, early, delay, stored = time.monotonic(), 0, 0.0, 0
        while stored < count:
            time.sleep(_LOOK_SECONDS)
            while follower.advance():
                pass
            stored = _last_seq(claim) - before
            passed = time.monotonic() - began
            delay = max(delay, min(passed, seconds) - stored / _RATE)
            if not early and passed > seconds / 10:
                early = _peak_kib()
        trainer.join()
        return {
            "sustained_seconds": round(passed, 1),
            "sustained_rows_per_second": round(count / passed, 1),
            "sustained_delay_max_s": round(delay, 2),
            "sustained_rss_growth_mib": round((_peak_kib() - early) / 1024, 1),
        }


def _followed_run(platform: LocalPlatform, count: int) -> tuple[Claim, Follower, Path]:
    """A running job of `count` steps, the worker's part that stores its events, and the file that the trainer writes them to."""
    with session_scope() as session:
        claim = running_job(session, platform.owner_id, count)
    workspace = workspace_of(claim, get_settings().data_dir)
    workspace.events.parent.mkdir(parents=True, exist_ok=True)
    return claim, Follower(claim, workspace, blob_store(get_settings()), Masker({})), workspace.events


def _emit(events: Path, count: int, rate: float | None) -> None:
    """Write the metrics of `count` steps, `rate` of them a second, or as fast as possible."""
    began = time.monotonic()
    log = EventLog(events)
    for number, event in enumerate(steps(1, count, count, metric_names(_NAMES))):
        while rate and number >= (time.monotonic() - began) * rate:
            time.sleep(_LOOK_SECONDS / 10)
        log.emit(event)
    log.close()


def _last_seq(claim: Claim) -> int:
    with session_scope() as session:
        return session.scalars(select(Job.last_seq).where(Job.id == claim.job_id)).one()


def _peak_kib() -> int:
    """The peak resident memory of this process, in KiB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
