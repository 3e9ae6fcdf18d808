"""The periodic work of a large cluster: heartbeats, sweeps, and the two lists that forecast the queue."""

import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]
import psycopg
from sqlalchemy import text

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.claims import add_jobs
from benchmarks.platform_suite.local_platform import local_platform
from core import db, live
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.queue.workers import MachineReport, report_worker
from core.scheduling.lines import repair_lines
from core.scheduling.matching import Capacity
from core.scheduling.shares import repair_shares
from core.settings import get_settings
from worker.sweeper import sweep_jobs

_CLUSTERS, _REHEARSED_CLUSTERS = {100: 100, 1_000: 1_000, 10_000: 2_750}, {10: 10, 20: 20}
"""Number of workers by that of the GPUs: with one GPU each, or as in the queue simulation."""
_QUEUED = 10
"""Queued jobs for each worker."""
_SENDERS = 8
_SECONDS, _REHEARSED_SECONDS = 10.0, 1.0
_REPEATS = 5
_MACHINE = MachineReport(Capacity(gpus=1, gpu_processes=1, cpu_processes=1))


def large_cluster(place: Place) -> dict[str, Any]:
    """Figures for clusters of 100, 1,000 and 10,000 GPUs, in which every worker runs a job and ten more are queued for it.

    `heartbeats_per_second_of_G`: heartbeats of busy workers, each with the renewal of a lease, that 8 senders get through.
    `heartbeats_needed_of_G`: those that the workers send. `database_ms_of_a_heartbeat_of_G`: processor time of PostgreSQL for
    one. `sweep_ms_of_G`: one sweep of the jobs. `list_ms_of_G`,
    `workers_ms_of_G`: the first page of queued jobs, and the list of workers, from one API process.
    """
    clusters = _REHEARSED_CLUSTERS if place.rehearsal else _CLUSTERS
    found: dict[str, Any] = {}
    with local_platform(place.folder) as platform:
        address = platform.database_url.replace("+psycopg", "")
        postmaster = psutil.Process(
            int((platform.folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        )
        with psycopg.connect(address, autocommit=True) as connection, platform.api() as client:
            connection.execute(
                "INSERT INTO owners (id, name) SELECT 'owner_' || n, '' FROM generate_series(0, 39) AS n"
            )
            for gpus, workers in clusters.items():
                _store(connection, workers)
                seconds = _REHEARSED_SECONDS if place.rehearsal else _SECONDS
                sent, cost = _heartbeats(workers, seconds, postmaster)
                found |= {
                    f"heartbeats_per_second_of_{gpus}": round(sent / seconds, 1),
                    f"database_ms_of_a_heartbeat_of_{gpus}": round(1000 * cost / sent, 2),
                    f"heartbeats_needed_of_{gpus}": round(workers / get_settings().heartbeat_seconds, 1),
                    f"sweep_ms_of_{gpus}": _milliseconds(lambda: sweep_jobs(get_settings())),
                    f"list_ms_of_{gpus}": _milliseconds(lambda: _get(client, "/v1/jobs?status=queued")),
                    f"workers_ms_of_{gpus}": _milliseconds(lambda: _get(client, "/v1/workers")),
                }
    return found


def _store(connection: psycopg.Connection, workers: int) -> None:
    """A cluster of so many workers in place of the one before. Their heartbeats and leases last for a day."""
    connection.execute("TRUNCATE workers, jobs, queue_lines CASCADE")
    add_jobs(connection, "running_", "running", workers)
    add_jobs(connection, "queued_", "queued", _QUEUED * workers)
    connection.execute("UPDATE jobs SET worker_id = replace(id, 'running_', 'wrk_') WHERE status = 'running'")
    with session_scope() as session:
        for number in range(1, workers + 1):
            report_worker(session, f"wrk_{number}", f"machine-{number}", f"running_{number}", _MACHINE)
        repair_lines(session)
        repair_shares(session)
    connection.execute("UPDATE workers SET last_seen_at = now() + interval '1 day'")
    connection.execute("VACUUM ANALYZE workers, jobs, queue_lines")


def _heartbeats(workers: int, seconds: float, postmaster: psutil.Process) -> tuple[int, float]:
    """Send heartbeats for some seconds. Returns their number, and the processor seconds of PostgreSQL."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(_SENDERS)]
    started, measured = context.Barrier(_SENDERS + 1), context.Barrier(_SENDERS + 1)
    for number, (_, ours) in enumerate(pipes):
        arguments = (range(number + 1, workers + 1, _SENDERS), started, seconds, ours, measured)
        context.Process(target=_send_until, args=arguments, daemon=True).start()
        ours.close()  # so that the end of a process ends the wait for its results
    started.wait()
    before = _processor_seconds(postmaster)
    sent = sum(theirs.recv() for theirs, _ in pipes)
    cost = _processor_seconds(postmaster) - before
    measured.wait()
    return sent, cost


def _processor_seconds(postmaster: psutil.Process) -> float:
    """Those of the living processes of the server."""
    times = [one.cpu_times() for one in postmaster.children()]
    return float(sum(one.user + one.system for one in times))


def _send_until(workers: range, started: Any, seconds: float, results: Connection, measured: Any) -> None:
    """Runs in a process of its own, which leaves the connections of its parent alone."""
    db.engine_for(get_settings().database_url).dispose(close=False)
    live.publisher_for.cache_clear()
    sent, choose = 0, random.Random(workers.start)
    with session_scope() as session:
        session.execute(text("SELECT 1"))  # the connection is there before the measurement
    started.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        number = choose.choice(workers)
        with session_scope() as session:
            report_worker(session, f"wrk_{number}", f"machine-{number}", f"running_{number}")
        with session_scope() as session:
            attempts.renew(session, f"running_{number}", 0)
        sent += 1
    results.send(sent)
    measured.wait()


def _get(client: httpx.Client, path: str) -> None:
    client.get(path).raise_for_status()


def _milliseconds(action: Any) -> float:
    """The median time of an action."""
    times = []
    for _ in range(_REPEATS):
        began = time.monotonic()
        action()
        times.append(time.monotonic() - began)
    return round(1000 * median(times), 1)
