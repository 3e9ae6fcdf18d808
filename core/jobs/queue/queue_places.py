"""The places of queued jobs: position, the reason why a job waits, and when it is expected to start.

A forecast of the claims gives the position and the expected start. The cost is that of a few queries for any number
of jobs: positions after `_FARTHEST` are estimated from priorities and ages alone.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.jobs.queue.workers import online_workers
from core.models import Job, JobAttempt, Project, Worker
from core.models.jobs import ACTIVE, JobStatus, Outcome
from core.models.workers import WorkerState
from core.quotas import QuotaName, owner_quotas
from core.scheduling.claim import policy_of
from core.scheduling.forecast import Cluster, RunningJob, Start, forecast
from core.scheduling.lines import count_lines, read_jobs_of_lines
from core.scheduling.matching import Capacity, Requirement
from core.scheduling.policy import next_month
from core.scheduling.shares import share_of
from core.settings import get_settings

_RECENT = 50
"""Finished attempts whose mean time is the estimate for a job."""
_FARTHEST = 1000
"""Last position that follows the claim's order, and that has an expected start."""
_READ, _READ_OF_LINE = 5000, 20
"""Queued jobs that are read to find these positions: all lines together, and at least of each line."""

_UNITS = {"running_jobs": "running job", "gpus": "GPU", "gpu_hours": "GPU-hour"}
_PERIODS = {"gpus": " at once", "gpu_hours": " a month"}


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
    now = session.scalars(select(func.clock_timestamp())).one()
    present, held = online_workers(session), _held_jobs(session)
    busy = {job.worker_id for job in held}  # `Worker.job_id` is that of the last heartbeat
    most = max(_READ_OF_LINE, _READ // max(1, count_lines(session)))
    lines = read_jobs_of_lines(session, most)
    owners = _Owners(session, {job.owner_id for job in queued} | {line.owner_id for line, _ in lines}, now)
    last_read = {following[-1][0] for _, following in lines if len(following) + 1 == most}
    cluster = _cluster(session, present, held)
    order = forecast(lines, owners.shares, owners.quotas, cluster, owners.now, owners.policy)
    starts = _starts(session, {job.id for job in queued}, order, last_read)
    found = {}
    for job in queued:
        need, (position, start) = Requirement.from_stored(job.requirement), starts[job.id]
        open_to_it = [one for one in present if one.state == WorkerState.ONLINE and _capacity(one).fits(need)]
        reason = _why_stopped(need, present, open_to_it) or owners.why_held(job)
        if reason is None and start is not None and start.held_by is not None:
            reason = owners.why_held_later(job, start.held_by)
        if reason is None and start is not None and start.at == now.timestamp():
            reason = "Waiting to be picked up."
        expected = None if start is None or start.at is None else datetime.fromtimestamp(start.at, UTC)
        found[job.id] = QueuePlace(position, reason or _why_busy(open_to_it, busy, position), expected)
    return found


def _capacity(worker: Worker) -> Capacity:
    return Capacity.from_stored(worker.capacity)


def _why_stopped(need: Requirement, present: Sequence[Worker], open_to_it: Sequence[Worker]) -> str | None:
    """Why no worker will take the job, however long it waits."""
    if not present:
        return "No worker is online. Start one with `proximal up` or `python -m worker`."
    if not any(_capacity(worker).fits(need) for worker in present):
        return f"No online worker can run this job. It needs {describe(need)}. Start such a worker, or ask for less."
    if open_to_it and all(worker.problem for worker in open_to_it):
        return str(open_to_it[0].problem)
    if not open_to_it:
        return "The workers that can run this job take no jobs at present. An operator has cordoned them."
    return None


def _why_busy(open_to_it: Sequence[Worker], busy: Collection[str | None], position: int) -> str:
    if any(worker.id not in busy for worker in open_to_it):
        why = "Other jobs take the idle workers first"
    else:
        why = "The only worker is busy" if len(open_to_it) == 1 else f"All {len(open_to_it)} workers are busy"
    ahead = {1: "this job is next.", 2: "1 job is ahead."}.get(position, f"{position - 1} jobs are ahead.")
    return f"{why}; {ahead}"


def describe(need: Requirement) -> str:
    """The requirement for people."""
    parts = [f"{need.processes} {'process' if need.processes == 1 else 'processes'} on a machine"]
    parts += [f"{need.machines} machines"] if need.machines > 1 else []
    parts += ["a GPU"] if need.device == "cuda" else []
    parts += [f"{need.gpu_memory_gib} GiB of memory on each GPU"] if need.gpu_memory_gib else []
    parts += [f"the label{'s' * (len(need.labels) > 1)} {', '.join(sorted(need.labels))}"] if need.labels else []
    return ", ".join(parts)


class _Owners:
    """The shares and quotas of owners."""

    def __init__(self, session: Session, ids: Collection[str], now: datetime) -> None:
        settings = get_settings()
        rows = session.scalars(select(Project).where(Project.id.in_(ids))).all()
        self.now = now.timestamp()
        self.policy = policy_of(settings)
        self.shares = {owner.id: share_of(owner) for owner in rows}
        self.quotas = {owner.id: owner_quotas(owner, settings) for owner in rows}

    def why_held(self, job: Job) -> str | None:
        """The reason why the owner's quotas keep a job from starting now; None if they do not."""
        share, quotas = self.shares[job.owner_id], self.quotas[job.owner_id]
        month = share.month_at(self.now)
        name = quotas.exceeded(share.running, share.slots, month, job.slots)
        if name is None:
            return None
        limit = getattr(quotas, name)
        if name == "gpus" and job.slots > limit:
            return (
                f"This job takes {job.slots} GPUs, and your limit is {limit} (`gpus`). Cancel it and submit a smaller one, "
                "or ask the operator of the platform for a higher limit."
            )
        if limit == 0:
            return f"Your quota allows {_counted(limit, name)}. Ask the operator of the platform for a higher limit."
        if name == "running_jobs":
            ends = "it ends" if share.running == 1 else "one of them ends"
            return (
                f"Your quota allows {_counted(limit, name)}, and you have {share.running}. This job waits until {ends}."
            )
        if name == "gpus":
            taken = (
                f"Your running jobs take {share.slots} of {limit} GPUs of your quota, and this job takes {job.slots}."
            )
            return f"{taken} It waits until one of them ends."
        renewed = datetime.fromtimestamp(next_month(self.now), UTC)
        used = f"Your quota allows {_counted(limit, name)}, and {month / 3600:.1f} are used."
        return f"{used} The next month begins on {renewed:%Y-%m-%d} (UTC)."

    def why_held_later(self, job: Job, name: QuotaName) -> str:
        """The reason of a job that waits for other jobs of its owner."""
        limit = _counted(getattr(self.quotas[job.owner_id], name), name)
        return f"Your other jobs come first. With them, your quota of {limit} is reached."


def _counted(limit: int, name: QuotaName) -> str:
    """The limit for people."""
    return f"{limit or 'no'} {_UNITS[name]}{'' if limit == 1 else 's'}{_PERIODS.get(name, '')}"


class _HeldJob(NamedTuple):
    """The columns of a job that a worker holds."""

    id: str
    owner_id: str
    slots: int
    worker_id: str | None
    step: int | None
    total_steps: int | None
    step_seconds: float | None

    @property
    def remaining_seconds(self) -> float | None:
        """Time of the other steps of the present stage. Later stages are not counted, so it is a lower bound."""
        if self.step is None or self.total_steps is None or self.step_seconds is None:
            return None
        return max(self.total_steps - self.step, 0) * self.step_seconds


def _held_jobs(session: Session) -> list[_HeldJob]:
    columns = [getattr(Job, name) for name in _HeldJob._fields]
    return [_HeldJob(*row) for row in session.execute(select(*columns).where(Job.status.in_(ACTIVE)))]


def _cluster(session: Session, present: Sequence[Worker], held: Sequence[_HeldJob]) -> Cluster:
    """The workers and their jobs. A cordoned worker takes no job, and its present one counts for the quotas."""
    mean = _mean_seconds(session)
    takes_jobs = [worker for worker in present if worker.state == WorkerState.ONLINE and not worker.problem]
    idle = {worker.id: _capacity(worker) for worker in takes_jobs}
    running = []
    for job in held:
        remaining = mean if job.remaining_seconds is None else job.remaining_seconds
        running.append(RunningJob(job.owner_id, job.slots, remaining, idle.pop(job.worker_id or "", None)))
    return Cluster(list(idle.values()), running, mean)


def _starts(
    session: Session, job_ids: set[str], order: Iterable[Start], last_read: Collection[str]
) -> dict[str, tuple[int, Start | None]]:
    """The position and the start of each job. An estimated position has no start.

    After a job of `last_read`, the order is unknown, because the next job of its line was not read.
    """
    missing, found, position = set(job_ids), {}, 0
    for position, start in enumerate(order, 1):
        if start.job_id in missing:
            missing.remove(start.job_id)
            found[start.job_id] = position, start
        if not missing or position == _FARTHEST or start.job_id in last_read:
            break
    return found | {job_id: (place, None) for job_id, place in _far_positions(session, missing, position).items()}


def _far_positions(session: Session, job_ids: Collection[str], served: int) -> dict[str, int]:
    """Estimates for jobs that the first `served` claims do not reach."""
    if not job_ids:
        return {}
    order = func.row_number().over(order_by=(Job.priority.desc(), Job.created_at, Job.id)).label("place")
    numbered = select(Job.id, order).where(Job.status == JobStatus.QUEUED).subquery()
    places = dict(session.execute(select(numbered.c.id, numbered.c.place).where(numbered.c.id.in_(job_ids))).all())
    return {job_id: max(places.get(job_id, 1), served + 1) for job_id in job_ids}


def _mean_seconds(session: Session) -> float | None:
    finished = select(JobAttempt.started_at, JobAttempt.ended_at)
    finished = finished.where(JobAttempt.outcome == Outcome.FINISHED.value)
    recent = finished.order_by(JobAttempt.ended_at.desc()).limit(_RECENT).subquery()
    mean = session.scalars(select(func.avg(func.extract("epoch", recent.c.ended_at - recent.c.started_at)))).one()
    return None if mean is None else float(mean)
