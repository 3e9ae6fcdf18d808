"""The memory of a page that follows a run for an hour of ten steps a second, in a tenth of the time."""

import time
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.dashboard.heap import SharedWorkerHeap, page_heap
from benchmarks.measuring.places import say
from benchmarks.platform_suite.stored_runs import steps
from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.events import append_events

STEPS = 36_000
_RATE = 100.0
_BATCH = 5
_SAMPLES = 36
_FIRST = 50
_SETTLE_MS = 1500


def an_hour(browser: Browser, page: Page, claim: Claim, names: Sequence[str], count: int = STEPS) -> dict[str, Any]:
    """Heaps of the page and of the shared worker while `count` steps arrive, each with the metrics `names`.

    `hour_heap_mb`: the largest of the page in each third of the steps. `hour_heap_growth_kb_per_step`: from the second third to
    the last one.
    """
    run = _Run(claim, names, count)
    run.store(_FIRST)
    page.goto(f"/jobs/{claim.job_id}?stage=ppo")
    page.wait_for_selector("article b[data-value]")
    page.wait_for_timeout(_SETTLE_MS)
    worker = SharedWorkerHeap(browser)
    heaps, workers = [page_heap(page)], [worker.size()]
    for sample in range(1, _SAMPLES + 1):
        run.store_until(page, count * sample // _SAMPLES)
        page.wait_for_timeout(_SETTLE_MS)
        heaps.append(page_heap(page))
        workers.append(worker.size())
        say(
            f"{run.stored} steps: {heaps[-1] / 1e6:.1f} MB in the page, {workers[-1] / 1e6:.2f} MB in the shared worker"
        )
    thirds = [max(heaps[1 + third * _SAMPLES // 3 :][: _SAMPLES // 3]) for third in range(3)]
    return {
        "hour_steps": run.stored,
        "hour_first_heap_mb": round(heaps[0] / 1e6, 1),
        "hour_heap_mb": [round(one / 1e6, 1) for one in thirds],
        "hour_heap_growth_kb_per_step": round((thirds[2] - thirds[1]) / 1e3 / (count / 3), 2),
        "hour_worker_heap_mb": [round(one / 1e6, 2) for one in (workers[0], workers[_SAMPLES // 2], workers[-1])],
    }


class _Run:
    def __init__(self, claim: Claim, names: Sequence[str], count: int) -> None:
        self.stored = 0
        self._claim, self._names, self._count = claim, names, count

    def store(self, count: int) -> None:
        """Store steps as the worker does."""
        with session_scope() as session:
            batch = list(steps(self.stored + 1, count, self._count, self._names))
            append_events(session, self._claim.job_id, self._claim.attempt, batch)
        self.stored += count

    def store_until(self, page: Page, step: int) -> None:
        """Store steps at the rate, while the page shows them."""
        began, first = time.monotonic(), self.stored
        while self.stored < step:
            self.store(min(_BATCH, step - self.stored))
            page.wait_for_timeout(max(1.0, 1000 * (began + (self.stored - first) / _RATE - time.monotonic())))
