"""The cost of metric rows in a large table and in a small one: bytes, writing, reading, deleting and vacuum."""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url, text
from sqlalchemy.orm import Session

from benchmarks.measuring.schedule import Place
from benchmarks.platform_suite.local_platform import LocalPlatform, local_platform
from benchmarks.platform_suite.stored_runs import metric_names, running_job, steps
from core.access import keys
from core.blobs import blob_store
from core.db import engine_for, migrate, session_scope
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.attempts import Claim
from core.jobs.lifecycle.removal import delete_job
from core.jobs.run.events import append_events
from core.jobs.run.metrics import MetricQuery, series
from core.jobs.run.thinning import thin_metrics
from core.models.jobs import JobStatus
from core.settings import get_settings

SMALL, REHEARSED_SMALL = 200_000, 6_000
"""Metric rows of the small table, which each larger one is compared with in turn: A B A B."""
SIZES, REHEARSED_SIZES = (1_000_000, 10_000_000), (9_000, 12_000)
"""Metric rows of the large table, one size after the other. The largest takes 12 GB of disk."""
_STEPS, _REHEARSED_STEPS = 10_000, 300
"""Steps of each run."""
_AT_A_TIME = 100
"""Runs that report in turn, so that the rows of a run are spread over the table as those of concurrent runs are."""
_REPORT = 8
"""Steps that a run reports at a time."""
_NAMES = metric_names(4)
_TURNS, _BATCHES, _BATCH = 5, 4, 500
_WIDE, _WIDE_STEPS = 40, 4_000
"""Metrics of a step as PPO reports them, and steps that are enough to measure the bytes of such a row."""
TABLES = ("job_metrics", "job_events", "job_metric_chunks")
_COLUMNS = {
    "job_metrics": 'seed_index, stage, step, attempt, at, "values"',
    "job_events": "seq, attempt, type, created_at, seed, stage, step, data",
    "job_metric_chunks": "seed_index, stage, level, chunk, name, steps, last, min, max, mean, n",
}
_COPY = """
INSERT INTO {table} (job_id, {columns})
SELECT copy, {columns} FROM {table} CROSS JOIN unnest(CAST(:copies AS text[])) WITH ORDINALITY AS c (copy, place)
WHERE job_id = :template AND {span} ORDER BY place, {order}
"""
_QUICKLY = text("SET LOCAL session_replication_role = replica")
"""Without the check of each copied row for its job."""
_COUNT = text("UPDATE jobs SET last_seq = last_seq + :steps WHERE id = ANY(:copies)")
_SIZE = text("SELECT sum(pg_total_relation_size(CAST(one AS regclass))) FROM unnest(CAST(:tables AS text[])) AS one")


def metric_rows(place: Place) -> dict[str, Any]:
    """`metric_rows`: by the number of rows in the large table, its figures and its times over those of the small one.

    `metric_rows_vacuum`: seconds of VACUUM after a tenth of the runs was thinned, and the growth of the tables by as many runs.
    `metric_row_bytes`: bytes of a step with 40 metrics, by table and with its indexes.
    """
    sizes = REHEARSED_SIZES if place.rehearsal else SIZES
    length = _REHEARSED_STEPS if place.rehearsal else _STEPS
    with local_platform(place.folder) as platform:
        wide = _bytes_of_a_wide_row(platform.owner_id)
        small, large = _Table(platform, "small", length), _Table(platform, "large", length)
        rows = REHEARSED_SMALL if place.rehearsal else SMALL
        found = {}
        for size in sizes:
            large.grow_to(size)
            small.grow_to(rows)
            found[size] = _in_turn(large, small) | {"bytes_per_row": large.bytes_per_row()}
        return {"metric_rows": found, "metric_rows_vacuum": large.vacuum(), "metric_row_bytes": wide}


def _in_turn(large: "_Table", small: "_Table") -> dict[str, float]:
    """Each operation's median time in the large table in ms, and the median of its ratios to the small one."""
    found: dict[str, float] = {}
    for name in ("store_500_steps", "read_chart", "read_1000_steps", "delete_run", "thin_run"):
        times = [(getattr(large, name)(), getattr(small, name)()) for _ in range(_TURNS)]
        found[f"{name}_ms"] = round(1000 * median(one for one, _ in times), 1)
        found[f"{name}_ratio"] = round(median(one / other for one, other in times), 2)
    return found


class _Table:
    """The tables of metrics in a database of their own, which grow by copies of one run."""

    def __init__(self, platform: LocalPlatform, name: str, length: int) -> None:
        self._url = _database(platform, name)
        self._length = length
        self._jobs: list[str] = []
        self._random = random.Random(0)
        with _settings(self._url):
            with session_scope() as session:
                self._owner_id = keys.create_key(session, "benchmark")[0].owner_id
            self._template = _stored_run(self._owner_id, length, _NAMES)
        self._rows = length

    def grow_to(self, size: int) -> None:
        """Copy the run until the table has `size` rows."""
        with _settings(self._url):
            while self._rows < size:
                count = min(_AT_A_TIME, -(-(size - self._rows) // self._length))
                claims = [_started_run(self._owner_id, self._length) for _ in range(count)]
                self._copy([claim.job_id for claim in claims])
                self._jobs += [_ended(claim) for claim in claims]
                self._rows += count * self._length
            with session_scope() as session:
                session.execute(text(f"ANALYZE {', '.join(TABLES)}"))

    def _copy(self, copies: Sequence[str]) -> None:
        values = {"template": self._template, "copies": list(copies)}
        steps_of = "stage = 'ppo' AND step > :first AND step <= :first + :count"
        statements = {
            "job_metrics": (steps_of, "step"),
            "job_events": (f"type = 'metrics' AND {steps_of}", "seq"),
        }
        with session_scope() as session:
            session.execute(_QUICKLY)
            for first in range(0, self._length, _REPORT):
                for table, (span, order) in statements.items():
                    _execute(session, table, span, order, values | {"first": first, "count": _REPORT})
            _execute(session, "job_metric_chunks", "true", "level, chunk", values)
            session.execute(_COUNT, {"steps": self._length, "copies": list(copies)})

    def store_500_steps(self) -> float:
        """Median seconds of a worker's transaction. The run is deleted afterwards."""
        count, times = _BATCHES * _BATCH, []
        with _settings(self._url):
            claim = _started_run(self._owner_id, count)
            for first in range(1, count + 1, _BATCH):
                events = list(steps(first, _BATCH, count, _NAMES))
                began = time.perf_counter()
                with session_scope() as session:
                    append_events(session, claim.job_id, claim.attempt, events)
                times.append(time.perf_counter() - began)
            _delete(_ended(claim))
        return median(times)

    def read_chart(self) -> float:
        return self._read(MetricQuery("ppo", _NAMES))

    def read_1000_steps(self) -> float:
        return self._read(MetricQuery("ppo", _NAMES, self._length // 2, self._length // 2 + 999))

    def _read(self, wanted: MetricQuery) -> float:
        """Seconds of a query for a run that was not read lately."""
        with _settings(self._url), session_scope() as session:
            began = time.perf_counter()
            found, _ = series(session, self._random.choice(self._jobs), wanted)
            seconds = time.perf_counter() - began
        assert len(found) == len(_NAMES)
        return seconds

    def delete_run(self) -> float:
        with _settings(self._url):
            return _seconds(_delete, self._taken())

    def thin_run(self) -> float:
        with _settings(self._url):
            return _seconds(_thin, self._taken())

    def _taken(self) -> str:
        """One of the runs, whose rows are counted as deleted."""
        self._rows -= self._length
        return self._jobs.pop(self._random.randrange(len(self._jobs)))

    def bytes_per_row(self) -> int:
        with _settings(self._url):
            return round(_bytes(*TABLES) / self._rows)

    def vacuum(self) -> dict[str, float]:
        """Thin a tenth of the runs, and vacuum the tables. Then store as many runs again."""
        gone, rows = max(1, len(self._jobs) // 10), self._rows
        with _settings(self._url):
            before = {table: _bytes(table) for table in TABLES}
            for _ in range(gone):
                _thin(self._taken())
            found = {f"{table}_s": round(_seconds(_vacuum, table), 2) for table in TABLES}
            self.grow_to(rows)
            return found | {f"{table}_growth": round(_bytes(table) / before[table], 3) for table in TABLES}


def _database(platform: LocalPlatform, name: str) -> str:
    """The address of a further database of the server, with the schema."""
    here = make_url(platform.database_url)
    plain = here.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = here.set(database=name).render_as_string(hide_password=False)
    migrate(url)
    return url


@contextmanager
def _settings(url: str) -> Iterator[None]:
    """The settings of this process with the address of a database."""
    before = os.environ["DATABASE_URL"]
    os.environ["DATABASE_URL"] = url
    get_settings.cache_clear()
    try:
        yield
    finally:
        os.environ["DATABASE_URL"] = before
        get_settings.cache_clear()


def _delete(job_id: str) -> None:
    with session_scope() as session:
        delete_job(session, blob_store(get_settings()), job_id)


def _thin(job_id: str) -> None:
    with session_scope() as session:
        assert thin_metrics(session, job_id, 30) > 0


def _execute(session: Session, table: str, span: str, order: str, values: dict[str, Any]) -> None:
    session.execute(text(_COPY.format(table=table, columns=_COLUMNS[table], span=span, order=order)), values)


def _started_run(owner_id: str, length: int) -> Claim:
    with session_scope() as session:
        return running_job(session, owner_id, length)


def _ended(claim: Claim) -> str:
    with session_scope() as session:
        attempts.finish(session, claim.job_id, claim.attempt, JobStatus.SUCCEEDED, "The run has ended.", summary={})
    return claim.job_id


def _stored_run(owner_id: str, length: int, names: Sequence[str]) -> str:
    """The id of an ended run whose steps are stored as a worker stores them."""
    claim = _started_run(owner_id, length)
    for first in range(1, length + 1, _BATCH):
        with session_scope() as session:
            events = list(steps(first, min(_BATCH, length + 1 - first), length, names))
            append_events(session, claim.job_id, claim.attempt, events)
    return _ended(claim)


def _bytes_of_a_wide_row(owner_id: str) -> dict[str, Any]:
    """Bytes of a step with 40 metrics: the growth of the tables by one run, after a run that has made their first pages."""
    _stored_run(owner_id, _WIDE_STEPS, metric_names(_WIDE))
    before = {table: _bytes(table) for table in TABLES}
    job = _stored_run(owner_id, _WIDE_STEPS, metric_names(_WIDE))
    grown = {table: round((_bytes(table) - before[table]) / _WIDE_STEPS) for table in TABLES}
    _delete(job)
    return grown | {"sum": sum(grown.values())}


def _bytes(*tables: str) -> int:
    """Bytes of the tables with their indexes."""
    with session_scope() as session:
        return int(session.execute(_SIZE, {"tables": list(tables)}).scalar_one())


def _vacuum(table: str) -> None:
    """VACUUM runs in no transaction."""
    with (
        engine_for(get_settings().database_url).connect().execution_options(isolation_level="AUTOCOMMIT") as connection
    ):
        connection.execute(text(f"VACUUM {table}"))


def _seconds(call: Callable[[str], None], of: str) -> float:
    began = time.perf_counter()
    call(of)
    return time.perf_counter() - began
