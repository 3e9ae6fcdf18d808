"""Preemption of running jobs in the database: the sweeper applies `core.scheduling.preemption`."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import change_status
from core.jobs.queue.workers import online_workers
from core.models import Job, JobAttempt, Project
from core.models.jobs import ACTIVE, JobStatus
from core.models.workers import WorkerState
from core.quotas import owner_quotas
from core.scheduling.claim import policy_of
from core.scheduling.lines import read_lines
from core.scheduling.matching import Capacity
from core.scheduling.preemption import Place, PlacedJob, Preemption, preemptions
from core.scheduling.shares import share_of
from core.settings import Settings

_ENDING = (JobStatus.PAUSING, JobStatus.CANCELLING)


def preempt_jobs(session: Session, settings: Settings) -> list[str]:
    """Pause running jobs that give up their worker to a waiting job. Returns their ids.

    Each returns to the queue once it is saved. Any number of sweepers may call it at once.
    """
    preemptible = select(Job.id).where(Job.status == JobStatus.RUNNING, Job.preemptible).limit(1)
    if session.scalars(preemptible).first() is None or not (lines := read_lines(session)):
        return []
    now: datetime = session.scalars(select(func.clock_timestamp())).one()
    places = _places(session)
    owners = _owners(session, {line.owner_id for line in lines} | {p.running.owner_id for p in places if p.running})
    found = preemptions(
        lines,
        {owner.id: share_of(owner) for owner in owners},
        {owner.id: owner_quotas(owner, settings) for owner in owners},
        places,
        now.timestamp(),
        policy_of(settings),
    )
    return [one.victim.job_id for one in found if _preempt(session, one)]


def _places(session: Session) -> list[Place]:
    """The workers that take jobs, with the jobs that they hold."""
    query = select(Job, JobAttempt.started_at).where(Job.status.in_(ACTIVE))
    query = query.join(JobAttempt, (JobAttempt.job_id == Job.id) & (JobAttempt.number == Job.attempt))
    held = {
        job.worker_id: PlacedJob(
            job.id,
            job.owner_id,
            job.priority,
            started_at.timestamp(),
            preemptible=job.preemptible and job.status == JobStatus.RUNNING,
            preempted=job.preempted,
            ending=job.status in _ENDING,
        )
        for job, started_at in session.execute(query)
    }
    return [
        Place(Capacity.from_stored(worker.capacity), held.get(worker.id))
        for worker in online_workers(session)
        if worker.state == WorkerState.ONLINE
    ]


def _owners(session: Session, ids: Iterable[str]) -> list[Project]:
    query = select(Project).where(Project.id.in_(ids)).execution_options(populate_existing=True)
    return list(session.scalars(query))


def _preempt(session: Session, found: Preemption) -> bool:
    """Returns False if the job has changed meanwhile."""
    still = select(Job).where(Job.id == found.victim.job_id, Job.status == JobStatus.RUNNING, Job.preemptible)
    job = session.scalars(still.with_for_update(skip_locked=True)).one_or_none()
    if job is None:
        return False
    higher = found.line.priority > found.victim.priority
    cause = "a job of a higher priority" if higher else "a job of an owner with much less use"
    reason = f"Preempted: {cause} needs this worker. The run is saved and returns to the queue."
    change_status(session, job, JobStatus.PAUSING, reason, PLATFORM, preempting=True, preempted=job.preempted + 1)
    return True
