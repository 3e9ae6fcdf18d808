"""The command: `python -m benchmarks.dashboard --json FILE`, or `make bench-dashboard JSON=FILE`.

It starts a platform, stores two runs without a trainer, and looks at them in Chromium. The dashboard must be built.
"""

import argparse
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.dashboard.heap import page_heap
from benchmarks.dashboard.hour import STEPS, an_hour
from benchmarks.measuring.browser import OPTIONS, chromium
from benchmarks.measuring.places import cores, path, processor, say, write_json
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from benchmarks.platform_suite.reading import store_steps
from benchmarks.platform_suite.stored_runs import running_job, steps
from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.events import append_events
from trainer.metrics import METRICS

LONG_RUN, LIVE_RUN, ADDED = 100_000, 4_900, 1_000_000
MOST_POINTS = 10_000
"""The live run is read without buckets, which the dashboard would ask for: each line has every step."""
NAMES = [one.name for one in METRICS if one.stage == "ppo" and one.chart and "<" not in one.name]
CHARTS = 12
WIDTH, HEIGHT = 2560, 1440
HZ = 10.0
LOADS = 5

_READY = """() => {
    const values = [...document.querySelectorAll("article b[data-value]")];
    return values.length >= 6 && performance.now();
}"""
_WATCH = """() => {
    window.seen = [];
    const legend = document.querySelector("[data-points]");
    const note = () => window.seen.push([Date.now(), Number(legend.dataset.points)]);
    new MutationObserver(note).observe(legend, { attributes: true, attributeFilter: ["data-points"] });
}"""
_MOVE = Path(__file__).with_name("move.js")
_SHIFTS = """() => {
    window.shift = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""


def measure(folder: Path, seconds: float, hour: bool) -> dict[str, Any]:
    """All figures. Times are in milliseconds. `hour`: only the memory of an hour."""
    with local_platform(folder) as platform, platform.api() as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=OPTIONS)
        try:
            if hour:
                return _hour(browser, client, platform)
            long_run, live_run = (_stored(platform, count) for count in (LONG_RUN, LIVE_RUN))
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
    """A page of charts with 5,000 points a line while steps arrive: delays, frames of pan and zoom, layout shift and heap."""
    with _page(browser, client, platform) as page, _steps_arriving(claim) as sent:
        page.route(
            re.compile(r"/jobs/[^/]+/metrics$"),
            lambda route: route.continue_(url=f"{route.request.url}?max_points={MOST_POINTS}"),
        )
        page.goto(f"/jobs/{claim.job_id}?stage=ppo")
        page.wait_for_function(_READY, polling="raf")
        page.wait_for_timeout(2000)
        heap = page_heap(page)
        page.evaluate(_WATCH)
        page.wait_for_timeout(seconds * 1000)
        delays = delays_of(page.evaluate("window.seen"), dict(sent))
        charts = page.locator("article:has(canvas)").count()
        frames: list[float] = page.evaluate(_MOVE.read_text(), seconds)
        points = int(page.locator("[data-points]").first.get_attribute("data-points") or 0)
        shift = float(page.evaluate("window.shift"))
        grown = page_heap(page) - heap
    cuts, waits = quantiles(frames, n=100), quantiles(delays, n=100)
    say(f"{charts} charts, {points} points, {len(sent)} steps arrived, {len(delays)} of them timed")
    return {
        "charts": charts,
        "points_of_a_line": points,
        "steps_arrived": len(sent),
        "step_to_point_p50_ms": round(waits[49]),
        "step_to_point_p95_ms": round(waits[94]),
        "frames": len(frames),
        "frame_p50_ms": round(cuts[49], 1),
        "frame_p95_ms": round(cuts[94], 1),
        "frame_p99_ms": round(cuts[98], 1),
        "frame_max_ms": round(max(frames), 1),
        "layout_shift": round(shift, 4),
        "heap_mb": round(heap / 1e6, 1),
        "heap_growth_kb_per_step": round(grown / 1e3 / max(1, len(sent)), 1),
    }


def _hour(browser: Browser, client: httpx.Client, platform: LocalPlatform) -> dict[str, Any]:
    with session_scope() as session:
        claim = running_job(session, platform.owner_id, STEPS)
    with _page(browser, client, platform) as page:
        return an_hour(browser, page, claim, NAMES)


def delays_of(seen: Sequence[tuple[float, int]], sent: Mapping[int, float]) -> list[float]:
    """Milliseconds from the end of each step to the first drawing that contains it.

    `seen`: times with the number of points, which is the number of the last step. `sent`: times by step. Both in ms since 1970.
    """
    delays = []
    for step, ended in sorted(sent.items()):
        shown = next((at for at, points in seen if points >= step), None)
        if shown is not None and seen[0][1] <= step:
            delays.append(shown - ended)
    return delays


@contextmanager
def _steps_arriving(claim: Claim) -> Iterator[dict[int, float]]:
    """Store ten steps a second as the worker does, until the end of the block. Yields their times by step, in ms since 1970."""
    ended, sent = threading.Event(), dict[int, float]()

    def add() -> None:
        began = time.monotonic()
        while not ended.wait(max(0.0, began + len(sent) / HZ - time.monotonic())):
            step = LIVE_RUN + 1 + len(sent)
            sent[step] = time.time() * 1000
            with session_scope() as session:
                append_events(session, claim.job_id, claim.attempt, list(steps(step, 1, ADDED, NAMES)))

    thread = threading.Thread(target=add)
    thread.start()
    try:
        yield sent
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Measure, print the figures, and write them to the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("--json", type=path, help="write every figure to this file")
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="seconds of watching, and of pan and zoom (default 15)"
    )
    parser.add_argument(
        "--hour", action="store_true", help="measure only the memory of an hour of live steps (7 minutes)"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        figures = measure(Path(folder), arguments.seconds, arguments.hour)
    figures["machine"] = {"cores": cores(), "processor": processor()}
    for name, value in figures.items():
        say(f"{name}: {value}")
    write_json(figures, arguments.json)


if __name__ == "__main__":
    main()
