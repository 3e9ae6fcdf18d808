"""The time to read a long run: the job, the list that contains it, and its charts."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from sqlalchemy import text

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.local_platform import local_platform
from benchmarks.platform_suite.stored_runs import CHART_NAMES, metric_names, running_job, steps
from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run import rollups
from core.jobs.run.events import append_events

STEPS, REHEARSED_STEPS = 1_000_000, 2_000
_NAMES = 12
"""Metrics a step. The charts read eight of them."""
_REPEATS = 15
_WINDOW = 1 << 15
_STEPS = text("""
INSERT INTO job_metrics (job_id, stage, step, attempt, at, "values")
SELECT :job_id, 'ppo', step, 1, now(), jsonb_object_agg(name, sin(step / (1000.0 + place)) + step % 7)
FROM generate_series(:first, :end - 1) AS step CROSS JOIN unnest(CAST(:names AS text[])) WITH ORDINALITY AS n (name, place)
GROUP BY step
""")


def read_long_run(place: Place) -> dict[str, Any]:
    """`get_job_ms`, `list_ms` and `chart_query_ms`: medians over requests to an API process on the same machine."""
    count = REHEARSED_STEPS if place.rehearsal else STEPS
    with local_platform(place.folder) as platform:
        with session_scope() as session:
            claim = running_job(session, platform.owner_id, count)
        began = time.monotonic()
        store_steps(claim, count)
        stored = time.monotonic() - began
        with platform.api() as client:
            job = f"/v1/jobs/{claim.job_id}"
            chart = {"stage": "ppo", "names": ",".join(CHART_NAMES)}
            return {
                "long_run_steps": count,
                "long_run_stored_s": round(stored, 1),
                "get_job_ms": milliseconds(lambda: client.get(job).raise_for_status()),
                "list_ms": milliseconds(lambda: client.get("/v1/jobs").raise_for_status()),
                "chart_query_ms": milliseconds(lambda: client.get(f"{job}/metrics", params=chart).raise_for_status()),
            }


def store_steps(claim: Claim, count: int, names: Sequence[str] = ()) -> None:
    """Store the metrics of `count` steps: most by SQL with the roll-ups that the worker writes, the last ones as it does.

    Each step has the metrics `names`, or 12 of them without names.
    """
    names = names or metric_names(_NAMES)
    last = REHEARSED_STEPS // 2
    for first in range(1, count - last + 1, _WINDOW):
        end = min(first + _WINDOW, count - last + 1)
        with session_scope() as session:
            values = {"job_id": claim.job_id, "names": list(names), "first": first, "end": end}
            session.execute(_STEPS, values)
            rollups.roll_up(session, claim.job_id, "ppo", max(first - 1, 1), end - 1)
    with session_scope() as session:
        append_events(session, claim.job_id, claim.attempt, list(steps(count - last + 1, last, count, names)))


def milliseconds(call: Callable[[], object]) -> float:
    """The median time of a call, after two that are not counted."""
    times = []
    for _ in range(_REPEATS + 2):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return round(1000 * median(times[2:]), 2)
