"""The time of a claim while 16 workers claim from a long queue in a large table."""

import json
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import quantiles
from typing import Any

import psycopg
from psycopg.errors import DeadlockDetected
from sqlalchemy.exc import OperationalError

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from core import db, live
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.scheduling.lines import repair_lines
from core.scheduling.shares import repair_shares
from core.settings import get_settings
from trainer.spec import JobSpec

_OWNERS = 40
_JOBS, _QUEUED, _ACTIVE = 100_000, 1_000, 200
_CLAIMERS = 16
_LINES = 1_000
_SECONDS, _REHEARSED_SECONDS = 15.0, 2.0
"""Seconds for one claimer, and again for 16."""
_SPEC = {"model": "benchmark/model", "data": {"preferences": "ds_benchmark"}, "ppo": {}}
_REFILL_SECONDS = 0.02
_INSERT = f"""
    INSERT INTO jobs (id, owner_id, name, spec, status, status_reason, created_at, queued_at, finished_at, worker_id,
        lease_expires_at, seeds_done, attempt, last_seq)
    SELECT %(prefix)s || n, 'owner_' || n %% {_OWNERS}, 'benchmark', %(spec)s, %(status)s, '', at, at,
        CASE WHEN %(status)s = 'succeeded' THEN at END, CASE WHEN %(status)s = 'running' THEN 'wrk_before' END,
        CASE WHEN %(status)s = 'running' THEN now() + interval '1 day' END, 0, 0, 0
    FROM (SELECT n, clock_timestamp() - interval '1 day' + n * interval '1 ms' AS at
        FROM generate_series(1, %(count)s) AS n) AS numbers
"""


_MANY, _REHEARSED_MANY = 100_000, 200
_LONGEST_SECONDS = 300.0


@dataclass(frozen=True)
class Claims:
    """Seconds of each claim, and the (job, attempt) of each."""

    seconds: list[float]
    claimed: list[tuple[str, int]]
    retried: int = 0
    """Claims that the database ended because of a deadlock. A worker repeats them."""

    def milliseconds(self, percent: int) -> float:
        """A percentile of the times."""
        return round(1000 * quantiles(self.seconds, n=100)[percent - 1], 2)


def claims(place: Place) -> dict[str, Any]:
    """`claim_p50_ms`, `claim_p99_ms`: a claim and its commit, by one worker at a time. `claims_per_second`: of 16 workers.

    These have 40 lines, one for each owner. `claim_p50_of_1000_lines_ms` has 1,000. Claimed jobs are replaced by new ones, so 1,000 jobs are queued all the time and the number of active jobs grows.
    """
    seconds = _REHEARSED_SECONDS if place.rehearsal else _SECONDS
    with local_platform(place.folder) as platform, _connected(platform) as connection:
        store_jobs(connection, 2_000 if place.rehearsal else _JOBS)
        alone, together = (measure(connection, count, seconds) for count in (1, _CLAIMERS))
        spread_over_lines(connection)
        of_many_lines = measure(connection, 1, seconds / 3)
    claimed = [*alone.claimed, *together.claimed, *of_many_lines.claimed]
    return {
        **{f"claim_p{one}_ms": alone.milliseconds(one) for one in (50, 99)},
        **{f"claim_p{one}_of_{_CLAIMERS}_ms": together.milliseconds(one) for one in (50, 99)},
        f"claim_p50_of_{_LINES}_lines_ms": of_many_lines.milliseconds(50),
        "claims_per_second": round(len(together.seconds) / seconds, 1),
        "claims": len(claimed),
        "claims_double": len(claimed) - len(set(claimed)),
    }


def many_claims(place: Place) -> dict[str, Any]:
    """`many_claims`: claims of 16 workers at once, until there are 100,000. `many_claims_double`: jobs claimed twice.

    `many_claims_retried`: claims that ended with a deadlock and were made again.
    """
    count = _REHEARSED_MANY if place.rehearsal else _MANY
    rounds: list[Claims] = []
    with local_platform(place.folder) as platform, _connected(platform) as connection:
        store_jobs(connection, 2_000 if place.rehearsal else _JOBS)
        until = time.monotonic() + _LONGEST_SECONDS
        while sum(len(one.claimed) for one in rounds) < count and time.monotonic() < until:
            rounds.append(measure(connection, _CLAIMERS, _REHEARSED_SECONDS if place.rehearsal else _SECONDS))
    claimed = [one for part in rounds for one in part.claimed]
    return {
        "many_claims": len(claimed),
        "many_claims_double": len(claimed) - len(set(claimed)),
        "many_claims_retried": sum(one.retried for one in rounds),
    }


def _connected(platform: LocalPlatform) -> psycopg.Connection:
    return psycopg.connect(platform.database_url.replace("+psycopg", ""), autocommit=True)


def store_jobs(connection: psycopg.Connection, count: int) -> None:
    """Store `count` jobs of 40 owners, of which 1,000 are queued and 200 run."""
    owners = f"INSERT INTO owners (id, name) SELECT 'owner_' || n, '' FROM generate_series(0, {_OWNERS - 1}) AS n"
    connection.execute(owners)
    add_jobs(connection, "ended_", "succeeded", max(count - _QUEUED - _ACTIVE, 0))
    add_jobs(connection, "active_", "running", _ACTIVE)
    add_jobs(connection, "queued_", "queued", _QUEUED)
    with session_scope() as session:
        repair_lines(session)
        repair_shares(session)
    connection.execute("VACUUM ANALYZE jobs")


def add_jobs(connection: psycopg.Connection, prefix: str, status: str, count: int) -> None:
    """Store jobs of all owners in turn, each with a complete spec."""
    spec = json.dumps(JobSpec.model_validate(_SPEC).model_dump(mode="json"))
    connection.execute(_INSERT, {"prefix": prefix, "status": status, "count": count, "spec": spec})


def spread_over_lines(connection: psycopg.Connection) -> None:
    """Queue three more jobs for each of 1,000 lines: 40 owners with 25 requirements each."""
    add_jobs(connection, "line_", "queued", 3 * _LINES)
    connection.execute(
        f"""
        UPDATE jobs SET requirement = jsonb_build_object('gpu_memory_gib', split_part(id, '_', 2)::int / {_OWNERS} % {_LINES // _OWNERS})
        WHERE status = 'queued' AND id LIKE 'line%'
        """
    )
    with session_scope() as session:
        repair_lines(session)
    connection.execute("VACUUM ANALYZE jobs, queue_lines")


def measure(connection: psycopg.Connection, claimers: int, seconds: float) -> Claims:
    """Claim in some processes for some seconds, and keep the queue full meanwhile."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(claimers)]
    started = context.Barrier(claimers + 1)
    for number, (_, ours) in enumerate(pipes):
        context.Process(target=_claim_until, args=(f"wrk_{number}", started, seconds, ours), daemon=True).start()
        ours.close()  # so that the end of a process ends the wait for its results
    started.wait()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        row = connection.execute("SELECT count(*) FROM jobs WHERE status = 'queued'").fetchone()
        assert row is not None
        if (missing := _QUEUED - row[0]) > 0:
            add_jobs(connection, f"more_{time.monotonic_ns()}_", "queued", missing)
        time.sleep(_REFILL_SECONDS)
    found: list[Claims] = [theirs.recv() for theirs, _ in pipes]
    return Claims(
        [one for part in found for one in part.seconds],
        [one for part in found for one in part.claimed],
        sum(part.retried for part in found),
    )


def _claim_until(worker_id: str, started: Any, seconds: float, results: Connection) -> None:
    """Runs in a process of its own, which leaves the connections of its parent alone."""
    db.engine_for(get_settings().database_url).dispose(close=False)
    live.publisher_for.cache_clear()
    times: list[float] = []
    claimed: list[tuple[str, int]] = []
    retried = 0
    for _ in range(6):  # the driver prepares a statement on its server at the sixth use
        _claim(worker_id, claimed)
    started.wait()
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        try:
            if _claim(worker_id, claimed):
                times.append(time.monotonic() - began)
        except OperationalError as error:
            if not isinstance(error.orig, DeadlockDetected):
                raise
            retried += 1
    results.send(Claims(times, claimed, retried))


def _claim(worker_id: str, claimed: list[tuple[str, int]]) -> bool:
    with session_scope() as session:
        claim = attempts.claim(session, worker_id)
    if claim is not None:
        claimed.append((claim.job_id, claim.attempt))
    return claim is not None
