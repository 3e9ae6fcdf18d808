"""The claim of a job: one statement that applies `core.scheduling.policy` in the database.

The statement orders the lines by their rows in `queue_lines`, and reads the first job of the best line from an index. So its
cost depends on the number of lines and not on the number of jobs. It locks the owner's row, so that quotas hold exactly, and skips owners that another claim has locked. It
starts the attempt as `core.jobs.lifecycle.state.change_status` would: status, event and attempt are written together.
"""

import json
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Row, TextualSelect, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from core.quotas import default_quotas
from core.scheduling.matching import EVERYTHING, Capacity
from core.scheduling.policy import OVERDUE, Policy
from core.scheduling.shares import DECAYED, MONTH, half_life_seconds
from core.settings import Settings, get_settings

_TRIES = 20
_PAUSE_SECONDS = 0.002
_OF_LINE = "(owner_id, priority, requirement) = (line.owner_id, line.priority, line.requirement)"
_SLOTS = "coalesce((requirement ->> 'processes')::bigint, 1) * coalesce((requirement ->> 'machines')::bigint, 1)"


def _quota(name: str) -> str:
    """SQL of a quota of the owner: the stored one, which may be null, or else the default."""
    return f"CASE WHEN owner.quotas ? '{name}' THEN (owner.quotas ->> '{name}')::bigint ELSE :{name} END"


_FITS = " AND ".join(
    (
        "(requirement ->> 'device' IS DISTINCT FROM 'cuda' OR :worker_gpus > 0)",
        "coalesce((requirement ->> 'machines')::bigint, 1) <= :worker_machines",
        "coalesce((requirement ->> 'processes')::bigint, 1) <= greatest(1, CASE "
        "WHEN requirement ->> 'device' = 'cpu' OR :worker_gpus = 0 THEN :worker_cpu_processes ELSE :worker_gpu_processes END)",
        "(requirement ->> 'device' = 'cpu' "
        "OR coalesce((requirement ->> 'gpu_memory_gib')::bigint, 0) <= :worker_gpu_memory_gib)",
        "coalesce(requirement -> 'labels', '[]') <@ CAST(:worker_labels AS jsonb)",
    )
)
"""SQL of `Capacity.fits`."""
_MAY_START = f"""
    coalesce(owner.running_jobs < {_quota("running_jobs")}, true)
    AND coalesce({MONTH} < 3600 * {_quota("gpu_hours")}, true)"""
_ROOM = f"({_quota('gpus')} - owner.slots_in_use)"
"""SQL of the slots that the owner may take in addition; null without a limit."""
_TAKES_JOBS = "NOT EXISTS (SELECT FROM workers WHERE workers.id = :worker_id AND workers.state <> 'online')"
_ORDER = f"line.rank DESC, CASE WHEN line.rank = {int(OVERDUE)} THEN line.waits_since END, line.used, line.oldest"


def _choice(lock: str) -> str:
    """The job that starts, as `first`, with the time as `clock`.

    The joins of `chosen` are evaluated line by line, in order, until one line has a job and a free owner.
    """
    return f"""WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    fitting AS MATERIALIZED (
        SELECT requirement, {_SLOTS} AS slots FROM (SELECT DISTINCT requirement FROM queue_lines) AS need WHERE {_FITS}
    ),
    sharing AS MATERIALIZED (
        SELECT owner.id AS owner_id, {DECAYED} + owner.slots_in_use * :running AS used, {_ROOM} AS room
        FROM owners AS owner CROSS JOIN clock
        WHERE {_MAY_START} AND {_TAKES_JOBS} AND owner.id IN (SELECT owner_id FROM queue_lines)
    ),
    lines AS MATERIALIZED (
        SELECT owner_id, priority, requirement, waits_since, oldest, slots, used, least({int(OVERDUE)}, priority
            + floor(extract(epoch FROM clock.now - waits_since)::float8 / :ageing)::bigint) AS rank
        FROM queue_lines JOIN fitting USING (requirement) JOIN sharing USING (owner_id) CROSS JOIN clock
        WHERE coalesce(slots <= room, true)
    ),
    top AS MATERIALIZED (
        SELECT line.rank FROM (SELECT * FROM lines AS line ORDER BY {_ORDER}) AS line
        CROSS JOIN LATERAL (SELECT FROM jobs WHERE status = 'queued' AND {_OF_LINE} LIMIT 1) AS job
        LIMIT 1
    ),
    chosen AS MATERIALIZED (
        SELECT line.owner_id, line.priority, line.requirement
        FROM (SELECT * FROM lines AS line WHERE rank = (SELECT rank FROM top) ORDER BY {_ORDER}) AS line
        CROSS JOIN LATERAL (SELECT FROM jobs WHERE status = 'queued' AND {_OF_LINE} LIMIT 1) AS job
        CROSS JOIN LATERAL (
            SELECT FROM owners AS owner CROSS JOIN clock WHERE owner.id = line.owner_id
                AND {_MAY_START} AND coalesce(line.slots <= {_ROOM}, true)
            {lock}
        ) AS locked
        LIMIT 1
    ),
    first AS MATERIALIZED (
        SELECT id FROM jobs
        WHERE status = 'queued' AND owner_id = (SELECT owner_id FROM chosen)
            AND priority = (SELECT priority FROM chosen) AND requirement = (SELECT requirement FROM chosen)
        ORDER BY created_at, id LIMIT 1
        FOR UPDATE SKIP LOCKED
    )"""


_STARTED = """UPDATE jobs
    SET status = 'starting', status_reason = :reason, last_seq = last_seq + 1, attempt = attempt + 1,
        worker_id = :worker_id, lease_expires_at = clock.now + make_interval(secs => :lease_seconds),
        started_at = coalesce(started_at, clock.now)
    FROM first, clock WHERE jobs.id = first.id AND status = 'queued'
    RETURNING jobs.id, owner_id, priority, requirement, slots, attempt, last_seq, spec, lease_expires_at, error"""
_ATTEMPT = """INSERT INTO job_attempts (job_id, number, worker_id, started_at, slots)
    SELECT id, attempt, :worker_id, clock.now, slots FROM started, clock"""
_EVENT = """INSERT INTO job_events (job_id, seq, attempt, type, created_at, data)
    SELECT id, last_seq, attempt, 'status_changed', clock.now, jsonb_build_object(
        'from', 'queued', 'to', 'starting', 'reason', CAST(:reason AS text), 'error', error, 'actor', CAST(:actor AS jsonb)) FROM started, clock"""
_COUNTED = f"""UPDATE owners AS owner
    SET decayed_use = {DECAYED}, month_use = {MONTH}, use_at = clock.now,
        running_jobs = owner.running_jobs + 1, slots_in_use = owner.slots_in_use + started.slots
    FROM started, clock WHERE owner.id = started.owner_id"""
"""The use of the owner of the started job."""
_SERVED = f"""UPDATE queue_lines AS line SET waits_since = clock.now, oldest = coalesce((
        SELECT created_at FROM jobs WHERE status = 'queued' AND {_OF_LINE} AND jobs.id <> started.id
        ORDER BY created_at, id LIMIT 1), oldest)
    FROM started, clock
    WHERE (line.owner_id, line.priority, line.requirement) = (started.owner_id, started.priority, started.requirement)"""
"""The line of the started job waits anew."""
_FOUND = """SELECT (SELECT count(*) FROM top) AS lines, (SELECT count(*) FROM chosen) AS chosen, started.id, started.owner_id,
        started.attempt, started.last_seq, started.spec, started.lease_expires_at
    FROM (VALUES (1)) AS one (n) LEFT JOIN started ON true"""


def _claim(lock: str) -> TextualSelect:
    """The statement: it chooses a job and starts it."""
    start = f"started AS ({_STARTED}), attempt AS ({_ATTEMPT}), event AS ({_EVENT}), counted AS ({_COUNTED})"
    statement = f"{_choice(lock)}, {start}, served AS ({_SERVED}) {_FOUND}"
    return text(statement).columns(spec=JSONB, lines=BigInteger, chosen=BigInteger)


_CLAIM_SKIPPING, _CLAIM_WAITING = _claim("FOR NO KEY UPDATE OF owner SKIP LOCKED"), _claim("FOR NO KEY UPDATE OF owner")


@dataclass(frozen=True)
class StartedJob:
    """A job that the claim has started."""

    id: str
    owner_id: str
    attempt: int
    last_seq: int
    """Number of the event of the claim."""
    spec: dict[str, Any]
    lease_expires_at: datetime


def start_next_job(
    session: Session, worker_id: str, actor: dict[str, str | None], capacity: Capacity = EVERYTHING
) -> StartedJob | None:
    """Start an attempt at the job that the policy chooses for a worker; None if no queued job may start there.

    `actor` is stored in the event of the transition.

    A try that finds every owner locked waits for the first one. It waits only while this transaction holds no owner, so
    two claims never wait for each other.
    """
    parameters = claim_parameters(get_settings(), capacity) | {
        "worker_id": worker_id,
        "reason": f"Claimed by worker {worker_id}.",
        "actor": json.dumps(actor),
    }
    wait = holds = False
    for _ in range(_TRIES):
        row: Row[Any] = session.execute(_CLAIM_WAITING if wait else _CLAIM_SKIPPING, parameters).one()
        if row.id is not None:
            return StartedJob(**{name: getattr(row, name) for name in StartedJob.__dataclass_fields__})
        if not row.lines:
            return None
        holds = holds or bool(row.chosen)  # another claim has taken the line's last job
        wait = not holds
        if holds:
            time.sleep(_PAUSE_SECONDS)
    return None


def claim_parameters(settings: Settings, capacity: Capacity) -> dict[str, Any]:
    """The parameters of the statement that come from the settings and from the worker."""
    most = default_quotas(settings)
    return {
        **asdict(policy_of(settings)),
        **{name: getattr(most, name) for name in ("running_jobs", "gpus", "gpu_hours")},
        **{f"worker_{name}": value for name, value in asdict(capacity).items()},
        "worker_labels": json.dumps(sorted(capacity.labels)),
        "lease_seconds": settings.job_lease_seconds,
    }


def policy_of(settings: Settings) -> Policy:
    """The policy with the parameters of the settings."""
    return Policy(
        half_life=half_life_seconds(settings),
        ageing=settings.ageing_hours * 3600,
        protected=settings.preempt_after_minutes * 60,
    )
