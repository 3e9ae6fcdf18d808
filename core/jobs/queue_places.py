"""The places of queued jobs: position, the reason why a job waits, and when it is expected to start.

The position follows the policy of the claim: it is the number of claims until the job starts, if all were made now. So it
leaves out quotas, the time until then, and jobs that will be submitted. The cost is that of a few queries for any number
of jobs: positions after `_FARTHEST` are estimated from priorities and ages alone.
"""

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.jobs.workers import online_workers
from core.models import Job, JobAttempt, Owner, Worker
from core.models.jobs import JobStatus, Outcome, WorkerState
from core.quotas import QuotaName, Quotas, owner_quotas
from core.scheduling.claim import policy_of
from core.scheduling.lines import count_lines, read_jobs_of_lines
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import Line, serving_order
from core.scheduling.shares import share_of
from core.settings import Settings, get_settings

_RECENT = 50
"""Finished attempts whose mean time is the estimate for a job."""
_FARTHEST = 1000
"""Last position that follows the claim's order, and that has an expected start."""
_READ, _READ_OF_LINE = 5000, 20
"""Queued jobs that are read to find these positions: all lines together, and at least of each line."""


@dataclass(frozen=True)
class QueuePlace:
    """The place of a queued job."""

    position: int
    """1: it is the next job that a worker for any job takes."""
    reason: str
    """Why it waits, as a sentence."""
    expected_start: datetime | None
    """None if it cannot start at present, or if no job has finished yet from which to estimate."""


def queue_places(session: Session, jobs: Sequence[Job]) -> dict[str, QueuePlace]:
    """For each queued job among `jobs`, its place."""
    queued = [job for job in jobs if job.status == JobStatus.QUEUED]
    if not queued:
        return {}
    settings = get_settings()
    now = session.scalars(select(func.clock_timestamp())).one()
    present = online_workers(session)
    blocked = _blocked_by_quotas(session, queued, settings, now)
    positions = _positions(session, queued, settings, now)
    starts = _Starts(session, present, now)
    found = {}
    for job in queued:
        need, position = Requirement.from_stored(job.requirement), positions[job.id]
        open_to_it = [one for one in present if one.state == WorkerState.ONLINE and _capacity(one).fits(need)]
        stopped = _why_stopped(need, present, open_to_it) or blocked.get(job.id)
        expected = None if stopped else starts.expected(open_to_it, position)
        reason = stopped or _why_busy(open_to_it, position)
        found[job.id] = QueuePlace(position, reason, expected)
    return found


def _capacity(worker: Worker) -> Capacity:
    return Capacity.from_stored(worker.capacity)


def _why_stopped(need: Requirement, present: Sequence[Worker], open_to_it: Sequence[Worker]) -> str | None:
    """Why no worker will take the job, however long it waits."""
    if not present:
        return "No worker is online. Start one with `proximal up` or `python -m worker`."
    if not any(_capacity(worker).fits(need) for worker in present):
        return f"No online worker can run this job. It needs {describe(need)}. Start such a worker, or ask for less."
    if not open_to_it:
        return "The workers that can run this job take no jobs at present. An operator has cordoned them."
    return None


def _why_busy(open_to_it: Sequence[Worker], position: int) -> str:
    if any(worker.job_id is None for worker in open_to_it):
        return "Waiting to be picked up."
    busy = "The only worker is busy" if len(open_to_it) == 1 else f"All {len(open_to_it)} workers are busy"
    ahead = {1: "this job is next.", 2: "1 job is ahead."}.get(position, f"{position - 1} jobs are ahead.")
    return f"{busy}; {ahead}"


def describe(need: Requirement) -> str:
    """The requirement for people."""
    parts = [f"{need.processes} {'process' if need.processes == 1 else 'processes'} on a machine"]
    parts += [f"{need.machines} machines"] if need.machines > 1 else []
    parts += ["a GPU"] if need.device == "cuda" else []
    parts += [f"{need.gpu_memory_gib} GiB of memory on each GPU"] if need.gpu_memory_gib else []
    parts += [f"the label{'s' * (len(need.labels) > 1)} {', '.join(sorted(need.labels))}"] if need.labels else []
    return ", ".join(parts)


def _blocked_by_quotas(session: Session, jobs: Sequence[Job], settings: Settings, now: datetime) -> dict[str, str]:
    """For each job that a quota of its owner keeps from starting, the reason."""
    owners = session.scalars(select(Owner).where(Owner.id.in_({job.owner_id for job in jobs})))
    limits = {owner.id: (share_of(owner), owner_quotas(owner, settings)) for owner in owners}
    found = {}
    for job in jobs:
        share, quotas = limits[job.owner_id]
        name = quotas.exceeded(share.running, share.slots, share.month_at(now.timestamp()), job.slots)
        if name is not None:
            found[job.id] = _why_over_quota(name, quotas, job.slots)
    return found


def _why_over_quota(name: QuotaName, quotas: Quotas, slots: int) -> str:
    if name == "gpus" and quotas.gpus is not None and slots > quotas.gpus:
        return (
            f"This job takes {slots} GPUs, and your limit is {quotas.gpus} (`gpus`). Cancel it and submit a smaller one, "
            "or ask the operator of the platform for a higher limit."
        )
    kind = {"running_jobs": "running jobs", "gpus": "GPUs at once", "gpu_hours": "GPU-hours a month"}[name]
    return f"Your limit of {getattr(quotas, name)} {kind} is reached."


def _positions(session: Session, jobs: Sequence[Job], settings: Settings, now: datetime) -> dict[str, int]:
    waiting = _waiting(session)
    owners = session.scalars(select(Owner).where(Owner.id.in_({line.owner_id for line, _ in waiting.lines})))
    shares = {owner.id: share_of(owner) for owner in owners}
    missing = {job.id for job in jobs}
    found = {}
    position = 0
    for job_id in serving_order(waiting.lines, shares, now.timestamp(), policy_of(settings)):
        position += 1
        if job_id in missing:
            missing.remove(job_id)
            found[job_id] = position
        if not missing or position == _FARTHEST or job_id in waiting.ends:
            break
    return found | _far_positions(session, missing, position)


@dataclass(frozen=True)
class _Waiting:
    lines: list[tuple[Line, list[tuple[str, float]]]]
    ends: set[str]
    """Jobs after which a line has jobs that were not read."""


def _waiting(session: Session) -> _Waiting:
    most = max(_READ_OF_LINE, _READ // max(1, count_lines(session)))
    lines = read_jobs_of_lines(session, most)
    return _Waiting(lines, {following[-1][0] for _, following in lines if len(following) + 1 == most})


def _far_positions(session: Session, job_ids: Collection[str], served: int) -> dict[str, int]:
    """Estimates for jobs that the first `served` claims do not reach."""
    if not job_ids:
        return {}
    order = func.row_number().over(order_by=(Job.priority.desc(), Job.created_at, Job.id)).label("place")
    numbered = select(Job.id, order).where(Job.status == JobStatus.QUEUED).subquery()
    places = dict(session.execute(select(numbered.c.id, numbered.c.place).where(numbered.c.id.in_(job_ids))).all())
    return {job_id: max(places.get(job_id, 1), served + 1) for job_id in job_ids}


class _Starts:
    """Estimates of starts: workers become free, and each job ahead takes the mean time of finished attempts."""

    def __init__(self, session: Session, present: Sequence[Worker], now: datetime) -> None:
        self._now = now
        self._mean = _mean_seconds(session)
        busy = [worker.job_id for worker in present if worker.job_id is not None]
        rows = session.scalars(select(Job).where(Job.id.in_(busy)))
        self._remaining = {job.id: _remaining_seconds(job) for job in rows}

    def expected(self, workers: Sequence[Worker], position: int) -> datetime | None:
        if position > _FARTHEST:
            return None
        free = [self._seconds_until_free(worker) for worker in workers]
        known = [seconds for seconds in free if seconds is not None]
        if not known:
            return None
        heapq.heapify(known)
        for _ in range(position - 1):
            if self._mean is None:
                heapq.heappop(known)
                if not known:
                    return None
            else:
                heapq.heappush(known, heapq.heappop(known) + self._mean)
        return self._now + timedelta(seconds=known[0])

    def _seconds_until_free(self, worker: Worker) -> float | None:
        if worker.job_id is None:
            return 0.0
        remaining = self._remaining.get(worker.job_id)
        return self._mean if remaining is None else remaining


def _remaining_seconds(job: Job) -> float | None:
    """Time of the present stage's other steps. Later stages are not counted, so it is a lower bound."""
    if job.step is None or job.total_steps is None or job.step_seconds is None:
        return None
    return max(job.total_steps - job.step, 0) * job.step_seconds


def _mean_seconds(session: Session) -> float | None:
    finished = select(JobAttempt.started_at, JobAttempt.ended_at)
    finished = finished.where(JobAttempt.outcome == Outcome.FINISHED.value)
    recent = finished.order_by(JobAttempt.ended_at.desc()).limit(_RECENT).subquery()
    mean = session.scalars(select(func.avg(func.extract("epoch", recent.c.ended_at - recent.c.started_at)))).one()
    return None if mean is None else float(mean)
