"""The command: `python -m benchmarks.dashboard --json FILE`, or `make bench-dashboard JSON=FILE`.

It starts a platform, stores two runs without a trainer, and looks at them in Chromium. The dashboard must be built.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.browser import OPTIONS, chromium
from benchmarks.places import cores, path, processor, say, write_json
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from benchmarks.platform_suite.reading import store_steps
from benchmarks.platform_suite.stored_runs import running_job, steps
from core.db import session_scope
from core.jobs.attempts import Claim
from core.jobs.events import append_events
from trainer.metrics import METRICS

LONG_RUN, LIVE_RUN, ADDED = 100_000, 4_900, 1_000_000
NAMES = [one.name for one in METRICS if one.stage == "ppo" and one.chart and "<" not in one.name]
CHARTS = 12
WIDTH, HEIGHT = 2560, 1440
HZ = 10.0
LOADS = 5

_READY = """() => {
    const values = [...document.querySelectorAll("article b[data-value]")];
    return values.length >= 6 && performance.now();
}"""
_MOVE = Path(__file__).with_name("move.js")
_SHIFTS = """() => {
    window.shift = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""


def measure(folder: Path, seconds: float) -> dict[str, Any]:
    """All figures. Times are in milliseconds."""
    with local_platform(folder) as platform, platform.api() as client, sync_playwright() as playwright:
        long_run, live_run = (_stored(platform, count) for count in (LONG_RUN, LIVE_RUN))
        browser = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        try:
            return _long_run(browser, client, platform, long_run) | _live(browser, client, platform, live_run, seconds)
        finally:
            browser.close()


def _stored(platform: LocalPlatform, count: int) -> Claim:
    with session_scope() as session:
        claim = running_job(session, platform.owner_id, ADDED)
    store_steps(claim, count, NAMES)
    return claim


@contextmanager
def _page(browser: Browser, client: httpx.Client, platform: LocalPlatform) -> Iterator[Page]:
    context = browser.new_context(base_url=str(client.base_url), viewport={"width": WIDTH, "height": HEIGHT})
    assert context.request.post("/v1/session", data={"token": platform.key}).ok
    page = context.new_page()
    page.add_init_script(f"({_SHIFTS})()")
    yield page
    context.close()


def _long_run(browser: Browser, client: httpx.Client, platform: LocalPlatform, claim: Claim) -> dict[str, Any]:
    """`long_run_first_ms` and `long_run_ms`: from the navigation until six charts are drawn and follow the pointer."""
    times = []
    with _page(browser, client, platform) as page:
        for _ in range(LOADS):
            page.goto(f"/jobs/{claim.job_id}?stage=ppo", wait_until="commit")
            times.append(float(page.wait_for_function(_READY, polling="raf").json_value()))
    say(f"run of {LONG_RUN:,} steps: {[round(one) for one in times]} ms")
    return {"long_run_steps": LONG_RUN, "long_run_first_ms": round(times[0]), "long_run_ms": round(median(times[1:]))}


def _live(
    browser: Browser, client: httpx.Client, platform: LocalPlatform, claim: Claim, seconds: float
) -> dict[str, Any]:
    """Frames of pan and zoom over 12 charts while steps arrive, and the layout shift from the navigation on."""
    with _page(browser, client, platform) as page, _steps_arriving(claim) as added:
        page.goto(f"/jobs/{claim.job_id}?stage=ppo")
        page.wait_for_function(_READY, polling="raf")
        page.wait_for_timeout(2000)
        charts = page.locator("article:has(canvas)").count()
        before = int(page.locator("[data-points]").first.get_attribute("data-points") or 0)
        frames: list[float] = page.evaluate(_MOVE.read_text(), seconds)
        after = int(page.locator("[data-points]").first.get_attribute("data-points") or 0)
        shift = float(page.evaluate("window.shift"))
    cuts = quantiles(frames, n=100)
    say(f"{charts} charts, {before} to {after} points, {added[0]} steps arrived")
    return {
        "charts": charts,
        "points_of_a_line": after,
        "steps_arrived": added[0],
        "frames": len(frames),
        "frame_p50_ms": round(cuts[49], 1),
        "frame_p95_ms": round(cuts[94], 1),
        "frame_p99_ms": round(cuts[98], 1),
        "frame_max_ms": round(max(frames), 1),
        "layout_shift": round(shift, 4),
    }


@contextmanager
def _steps_arriving(claim: Claim) -> Iterator[list[int]]:
    """Store ten steps a second as the worker does, until the end of the block. Yields their number in a list."""
    ended, added = threading.Event(), [0]

    def add() -> None:
        began = time.monotonic()
        while not ended.wait(max(0.0, began + added[0] / HZ - time.monotonic())):
            with session_scope() as session:
                event = list(steps(LIVE_RUN + 1 + added[0], 1, ADDED, NAMES))
                append_events(session, claim.job_id, claim.attempt, event)
            added[0] += 1

    thread = threading.Thread(target=add)
    thread.start()
    try:
        yield added
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Measure, print the figures, and write them to the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("--json", type=path, help="write every figure to this file")
    parser.add_argument("--seconds", type=float, default=15.0, help="seconds of pan and zoom (default 15)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        figures = measure(Path(folder), arguments.seconds)
    figures["machine"] = {"cores": cores(), "processor": processor()}
    for name, value in figures.items():
        say(f"{name}: {value}")
    write_json(figures, arguments.json)


if __name__ == "__main__":
    main()
