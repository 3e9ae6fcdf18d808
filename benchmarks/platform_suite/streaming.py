"""The event streams: 1,000 clients of one API process, the way of one event from a trainer to a client; idle memory."""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform, wait_until_ready
from benchmarks.platform_suite.stored_runs import metric_names, running_job, steps
from benchmarks.platform_suite.stream_ends import SENT
from core.blobs import blob_store
from core.db import session_scope
from core.jobs.lifecycle.attempts import Claim
from core.jobs.run.events import append_events
from core.settings import get_settings
from proximal.local import services
from proximal.local.options import Options
from worker.jobs.attempt import run_attempt
from worker.jobs.context import WorkerContext
from worker.jobs.launch.local import LocalLauncher
from worker.process import StopRequest

_CLIENTS, _REHEARSED_CLIENTS = 1000, 50
_SECONDS, _REHEARSED_SECONDS = 30.0, 5.0
_JOBS = 5
_HZ = 10.0
"""Events a second of the first job. The others have one each."""
_ENDS = (sys.executable, "-m", "benchmarks.platform_suite.stream_ends")
_ROOT = str(Path(__file__).parents[2])
"""The processes of `_ENDS` have other working directories."""
_NAMES = 40
_TOTAL_STEPS = 1_000_000


def stream_to_many(place: Place) -> dict[str, Any]:
    """`sse_lag_p99_ms`: from the report of an event to its arrival at 1,000 clients of one API process.

    Three quarters of the clients watch one job with 10 events a second, and the others watch four more jobs with it.
    `sse_other_requests_p95_ms`: reads of a job and of the list meanwhile. `sse_rss_growth_mib`: growth of the memory of the
    API process from before the first client to the highest value.
    """
    clients = _REHEARSED_CLIENTS if place.rehearsal else _CLIENTS
    seconds = _REHEARSED_SECONDS if place.rehearsal else _SECONDS
    os.environ["PROXIMAL_STREAMS_PER_OWNER"] = str(2 * clients)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the API process inherits it
    os.environ["PYTHONPATH"] = _ROOT
    with local_platform(place.folder) as platform, platform.api() as client:
        claims = []
        for _ in range(_JOBS):
            with session_scope() as session:
                claims.append(running_job(session, platform.owner_id, _TOTAL_STEPS))
        read = _reader(client, claims[0])
        alone = [read() for _ in range(50)]
        memory = _Memory(_api_process())
        with _clients(platform, client, claims, clients, seconds) as process:
            _report(claims, 2.0, _HZ)  # not counted: the first events after 1,000 connections were opened
            reading = _Repeated(read)
            lags = _report_and_collect(process, claims, seconds)
            others = reading.stop()
        growth = memory.stop()
    counted = lags["lags_ms"]
    return {
        "sse_clients": clients,
        "sse_events_received": len(counted),
        "sse_connections_lost": lags["lost"],
        "sse_lag_p50_ms": round(median(counted), 1),
        "sse_lag_p99_ms": _percentile(counted, 99),
        "sse_other_requests_p95_ms": _percentile(others, 95),
        "other_requests_p95_ms_without_clients": _percentile(alone, 95),
        "sse_rss_growth_mib": growth,
    }


def stream_from_worker(place: Place) -> dict[str, Any]:
    """`event_p95_ms`: from the end of a step in the trainer to the arrival of its metrics at a client.

    The worker follows a process that reports steps at the given interval. `event_p95_ms` is that of steps of half a
    second. The worker stores shorter ones together.
    """
    count = 8 if place.rehearsal else 50
    figures: dict[str, Any] = {}
    os.environ["PYTHONPATH"] = _ROOT
    with local_platform(place.folder) as platform, platform.api() as client:
        for interval, name in ((0.5, "event"), (0.1, "event_of_short_steps")):
            lags = _follow_trainer(platform, client, count, interval)
            figures |= {f"{name}_p50_ms": round(median(lags), 1), f"{name}_p95_ms": _percentile(lags, 95)}
    return figures


def _follow_trainer(platform: LocalPlatform, client: httpx.Client, count: int, interval: float) -> list[float]:
    """Run an attempt whose trainer is `stream_ends run`. Returns the lags of its steps at one client, in milliseconds."""
    with session_scope() as session:
        claim = running_job(session, platform.owner_id, count)
    settings = get_settings()
    launcher = LocalLauncher([*_ENDS, "--count", str(count), "--interval", str(interval)])
    worker = WorkerContext(settings, blob_store(settings), launcher, StopRequest())
    with _clients(platform, client, [claim], 1, count * interval + 5) as process:
        run_attempt(replace(claim, spec=claim.spec | {"data": {}}), worker)
        assert process.stdout is not None
        lags: list[float] = json.loads(process.stdout.readline())["lags_ms"]
    if len(lags) < count:
        raise RuntimeError(f"{len(lags)} of {count} events arrived.")
    return lags


def idle_memory(place: Place) -> dict[str, Any]:
    """`idle_rss_mib`: resident memory of all processes of `proximal up` without a job, half a minute after its start.

    Pages that processes share count once for each of them. `idle_pss_mib` divides them among the processes.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    options = Options(place.folder / "up", port=port)
    up = services.start_in_background(options)
    try:
        with httpx.Client(base_url=options.url) as client:
            wait_until_ready(client)
        time.sleep(5 if place.rehearsal else 30)
        root = psutil.Process(up.pid)
        memory = [process.memory_full_info() for process in (root, *root.children(recursive=True))]
        return {
            "idle_rss_mib": round(sum(one.rss for one in memory) / 1024**2, 1),
            "idle_pss_mib": round(sum(one.pss for one in memory) / 1024**2, 1),
        }
    finally:
        up.stop(grace=30)


@contextmanager
def _clients(
    platform: LocalPlatform, client: httpx.Client, claims: list[Claim], count: int, seconds: float
) -> Iterator[subprocess.Popen[str]]:
    """The process of the clients, once every connection is open."""
    command = [*_ENDS, "--count", str(count), "clients", "--port", str(client.base_url.port), "--key", platform.key]
    command += ["--seconds", str(seconds + 4)]
    command += ["--jobs", *[claim.job_id for claim in claims]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "open\n":
            raise RuntimeError("The clients of the streams could not connect.")
        yield process
    finally:
        process.kill()
        process.wait()


def _report_and_collect(process: subprocess.Popen[str], claims: list[Claim], seconds: float) -> dict[str, Any]:
    _report(claims, seconds, _HZ)
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


_step = iter(range(1, _TOTAL_STEPS))


def _report(claims: list[Claim], seconds: float, hz: float) -> None:
    """Store events as a worker does, at fixed times."""
    began = time.monotonic()
    for number in range(int(seconds * hz)):
        time.sleep(max(0.0, began + number / hz - time.monotonic()))
        due = claims if number % int(hz) == 0 else claims[:1]
        for claim in due:
            (event,) = steps(next(_step), 1, _TOTAL_STEPS, metric_names(_NAMES))
            event.values[SENT] = time.time()
            with session_scope() as session:
                append_events(session, claim.job_id, claim.attempt, [event])


def _reader(client: httpx.Client, claim: Claim) -> Any:
    paths = [f"/v1/jobs/{claim.job_id}", "/v1/jobs"]

    def read() -> float:
        """Milliseconds of one request."""
        began = time.perf_counter()
        client.get(paths[0]).raise_for_status()
        paths.reverse()
        return 1000 * (time.perf_counter() - began)

    return read


class _Repeated:
    """Calls a function ten times a second in a thread, and collects its results."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._results: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> list[float]:
        self._ended.set()
        self._thread.join()
        return self._results

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            self._results.append(self._function())


class _Memory:
    """Growth of a process's resident memory since now, sampled in a thread."""

    def __init__(self, process: psutil.Process) -> None:
        first = process.memory_info().rss
        self._sampled = _Repeated(lambda: (process.memory_info().rss - first) / 1024**2)

    def stop(self) -> float:
        return round(max(self._sampled.stop()), 1)


def _api_process() -> psutil.Process:
    (found,) = [child for child in psutil.Process().children(recursive=True) if "api" in child.cmdline()]
    return found


def _percentile(values: list[float], percent: int) -> float:
    return round(quantiles(values, n=100)[percent - 1], 1)
