"""The time to read a long run: the job, the list that contains it, and its charts."""

import json
import time
from collections.abc import Callable
from itertools import islice
from statistics import median
from typing import Any

import psycopg

from benchmarks.gpu_suite.schedule import Place
from benchmarks.platform_suite.local_platform import local_platform
from benchmarks.platform_suite.stored_runs import CHART_NAMES, running_job, steps
from core.db import session_scope

STEPS, REHEARSED_STEPS = 20_000, 2_000
_NAMES = 12
"""Metrics a step. The charts read eight of them."""
_REPEATS = 15
_BATCH = 10_000


def read_long_run(place: Place) -> dict[str, Any]:
    """`get_job_ms`, `list_ms` and `chart_query_ms`: medians over requests to an API process on the same machine."""
    count = REHEARSED_STEPS if place.rehearsal else STEPS
    with local_platform(place.folder) as platform:
        with session_scope() as session:
            claim = running_job(session, platform.owner_id, count)
        began = time.monotonic()
        store_steps(platform.database_url, claim.job_id, count)
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


def store_steps(database_url: str, job_id: str, count: int) -> None:
    """Copy the metrics of `count` steps into the table."""
    rows = steps(1, count, count, _NAMES)
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        while batch := list(islice(rows, _BATCH)):
            command = 'COPY job_metrics (job_id, stage, step, attempt, at, "values") FROM STDIN'
            with connection.cursor() as cursor, connection.transaction(), cursor.copy(command) as copy:
                for event in batch:
                    copy.write_row((job_id, "ppo", event.step, 1, "2026-01-01T00:00:00Z", json.dumps(event.values)))
        connection.execute("VACUUM ANALYZE job_metrics")


def milliseconds(call: Callable[[], object]) -> float:
    """The median time of a call, after two that are not counted."""
    times = []
    for _ in range(_REPEATS + 2):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return round(1000 * median(times[2:]), 2)
