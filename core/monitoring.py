"""The state of the platform for a monitoring system, read in one transaction that writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, TextClause, text

from core.db import engine_for
from core.models.jobs import ACTIVE, JobStatus
from core.models.tasks import TaskStatus

STATEMENT_SECONDS = 3
"""Seconds after which PostgreSQL ends a statement."""
WORKER_STATES = ("online", "cordoned", "draining", "silent")
"""`silent`: no heartbeat has arrived for the time of a lease."""
FIGURES: Mapping[str, tuple[str, ...]] = {
    "reward": ("objective/scores",),
    "kl": ("objective/kl",),
    "entropy": ("policy/entropy_avg",),
    "clip_fraction": ("policy/clipfrac_avg",),
    "explained_variance": ("val/explained_var",),
    "loss": ("loss/policy_avg", "loss"),
    "value_loss": ("loss/value_avg",),
}
"""The trainer's metrics that are shown of a run. The first that it has counts."""
_JOBS = text("SELECT status, count(*) AS total FROM jobs GROUP BY status")
_TASKS = text("SELECT status, count(*) AS total FROM data_tasks GROUP BY status")
_WAITS = text(
    "SELECT coalesce(extract(epoch FROM now() - (SELECT min(queued_at) FROM jobs WHERE status = 'queued')), 0),"
    " coalesce(extract(epoch FROM now() - (SELECT min(created_at) FROM data_tasks WHERE status = 'queued')), 0)"
)
_WORKERS = text(
    "SELECT CASE WHEN last_seen_at < now() - make_interval(secs => :lease) THEN 'silent' ELSE state END AS shown,"
    " count(*), count(job_id) FROM workers WHERE stopped_at IS NULL GROUP BY shown"
)
_ACTIVE = f"status IN ({', '.join(repr(status.value) for status in ACTIVE)})"
_EXPIRED = "count(*), count(*) FILTER (WHERE lease_expires_at < now())"
_HELD = text(
    f"SELECT 'job', {_EXPIRED} FROM jobs WHERE {_ACTIVE}"
    f" UNION ALL SELECT 'data_task', {_EXPIRED} FROM data_tasks WHERE status = 'running'"
)
_LOST = text("SELECT count(*) FROM job_attempts WHERE outcome = 'lost' AND ended_at > now() - interval '1 hour'")
_RUNS = text(
    "SELECT id, step, total_steps, latest_metrics, spec #>> '{ppo,batch_size}' AS batch_size"
    f" FROM jobs WHERE {_ACTIVE} ORDER BY started_at DESC NULLS LAST, id LIMIT :limit"
)


@dataclass(frozen=True)
class Run:
    """The newest figures of a job that a worker holds."""

    job_id: str
    step: int | None
    total_steps: int | None
    figures: Mapping[str, float]
    """Those of FIGURES that the run has reported in its present stage, and `tokens_per_second`."""


@dataclass(frozen=True)
class PlatformState:
    """The figures of one moment."""

    jobs: Mapping[str, int]
    """Jobs by status, with every status."""
    tasks: Mapping[str, int]
    """Data tasks by status, with every status."""
    job_wait_seconds: float
    """Age of the oldest entry of the queue; 0 for an empty queue."""
    task_wait_seconds: float
    workers: Mapping[str, int]
    """Workers by state, with every state."""
    busy_workers: int
    leases: Mapping[str, int]
    """Leases that are held, by the kind of their holder."""
    expired_leases: Mapping[str, int]
    """Those of them that have expired. The sweeper takes them back, so they only stay while no sweeper runs."""
    lost_attempts: int
    """Attempts whose worker was lost within the last hour."""
    runs: list[Run] = field(default_factory=list)
    """The jobs that started last, at most as many as asked for."""
    hidden_runs: int = 0
    """Running jobs beyond that number."""


def read_state(database_url: str, lease_seconds: float, most_runs: int) -> PlatformState:
    """The state of one moment: all statements see the same snapshot. Raises SQLAlchemyError."""
    options: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with engine_for(database_url).connect().execution_options(**options) as connection:
        connection.execute(text(f"SET LOCAL statement_timeout = {1000 * STATEMENT_SECONDS}"))
        return _state(connection, lease_seconds, most_runs)


def _state(connection: Connection, lease_seconds: float, most_runs: int) -> PlatformState:
    jobs = _counts(connection, _JOBS, list(JobStatus))
    waits = connection.execute(_WAITS).one()
    workers = connection.execute(_WORKERS, {"lease": lease_seconds}).all()
    held = connection.execute(_HELD).all()
    runs = [_run(row) for row in connection.execute(_RUNS, {"limit": most_runs})]
    return PlatformState(
        jobs,
        _counts(connection, _TASKS, list(TaskStatus)),
        float(waits[0]),
        float(waits[1]),
        dict.fromkeys(WORKER_STATES, 0) | {state: count for state, count, _ in workers},
        sum(busy for state, _, busy in workers if state != "silent"),
        {holder: count for holder, count, _ in held},
        {holder: expired for holder, _, expired in held},
        connection.execute(_LOST).scalar_one(),
        runs,
        sum(jobs[status] for status in ACTIVE) - len(runs),
    )


def _counts(connection: Connection, query: TextClause, statuses: list[Any]) -> dict[str, int]:
    found: dict[str, int] = {row.status: row.total for row in connection.execute(query)}
    return {status.value: found.get(status.value, 0) for status in statuses}


def _run(row: Any) -> Run:
    return Run(row.id, row.step, row.total_steps, figures_of(row.latest_metrics, int(row.batch_size or 0)))


def figures_of(metrics: Mapping[str, float], batch_size: int) -> dict[str, float]:
    """The figures of a run from its newest metrics.

    The tokens per second are those that the stage reports. For PPO they are mean length · responses ÷ seconds of the step, with
    `batch_size` responses unless some of them were left out.
    """
    found = {name: metrics[key] for name, keys in FIGURES.items() if (key := _first(metrics, keys))}
    if "time/tokens_per_second" in metrics:
        found["tokens_per_second"] = metrics["time/tokens_per_second"]
    elif "val/response_length" in metrics and metrics.get("time/step"):
        responses = metrics.get("val/responses", batch_size)
        found["tokens_per_second"] = metrics["val/response_length"] * responses / metrics["time/step"]
    return found


def _first(metrics: Mapping[str, float], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in metrics), None)
