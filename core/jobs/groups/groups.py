"""Groups of jobs: members, the objective, the bound on parallel jobs, and the cancel of all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from core.access.users import acting_user
from core.errors import IllegalTransition, NotFound
from core.jobs.lifecycle.actors import PLATFORM, Actor
from core.jobs.lifecycle.state import Request, change_status, request
from core.jobs.run import sparkline
from core.jobs.run.seeds import seeds_of
from core.models import Job, JobGroup, JobGroupMember
from core.models.base import new_id
from core.models.groups import Goal
from core.models.jobs import ACTIVE, SCORE, TERMINAL, JobStatus

_TAKES_A_PLACE = (JobStatus.QUEUED, *ACTIVE)


@dataclass(frozen=True)
class Member:
    """A job of a group with its values and its objective; None: it has no such figure yet."""

    job: Job
    number: int
    values: dict[str, Any]
    objective: float | None


def create_group(
    session: Session,
    owner_id: str,
    name: str,
    metric: str = SCORE,
    max_parallel: int | None = None,
    sweep: dict[str, Any] | None = None,
    goal: Goal = Goal.MAXIMIZE,
) -> JobGroup:
    """Store a group without jobs."""
    group = JobGroup(
        id=new_id("grp"),
        owner_id=owner_id,
        created_by=acting_user(session),
        name=name,
        metric=metric,
        goal=goal,
        max_parallel=max_parallel,
        sweep=sweep,
    )
    session.add(group)
    session.flush()
    return group


def group_of(session: Session, owner_id: str, group_id: str, *, lock: bool = False) -> JobGroup:
    """The owner's group. Raises NotFound."""
    query = select(JobGroup).filter_by(id=group_id, owner_id=owner_id)
    group = session.scalars(query.with_for_update() if lock else query).one_or_none()
    if group is None:
        raise NotFound(f"There is no group {group_id!r}.")
    return group


def add_to_group(session: Session, group: JobGroup, job: Job, values: dict[str, Any] | None = None) -> None:
    """Add a job that is queued in this transaction. Beyond `max_parallel` it is paused until there is room.

    The caller has created or locked the group.
    """
    highest = select(func.max(JobGroupMember.number)).filter_by(group_id=group.id)
    number = (session.scalars(highest).one() or 0) + 1
    session.add(JobGroupMember(job_id=job.id, group_id=group.id, number=number, values=values or {}, held=False))
    hold_without_room(session, group, job)


def bounded_group_of(session: Session, job: Job) -> JobGroup | None:
    """The group of the job, locked; None if it is in no group, or in one without `max_parallel`.

    Lock the group before the job, in the order of the sweeper.
    """
    query = select(JobGroup).join(JobGroupMember, JobGroupMember.group_id == JobGroup.id)
    query = query.where(JobGroupMember.job_id == job.id, JobGroup.max_parallel.is_not(None))
    return session.scalars(query.with_for_update(of=JobGroup)).one_or_none()


def hold_without_room(session: Session, group: JobGroup | None, job: Job) -> None:
    """Pause the job, which was queued in this transaction, until its group has room. The group is locked."""
    if group is None or group.max_parallel is None or _places_taken(session, group.id) <= group.max_parallel:
        return
    session.get_one(JobGroupMember, job.id).held = True
    number = f"{group.max_parallel} job{'s' * (group.max_parallel != 1)}"
    reason = f"The group allows {number} at a time. The job is queued when another one ends."
    change_status(session, job, JobStatus.PAUSED, reason, PLATFORM)
    session.flush()


def release_held_jobs(session: Session) -> list[str]:
    """Queue held jobs of groups that have room, in order. Returns their ids. Any number of sweepers may call it at once."""
    left = select(Job.id).where(Job.status != JobStatus.PAUSED)  # a user has resumed or cancelled it
    session.execute(
        update(JobGroupMember).where(JobGroupMember.held, JobGroupMember.job_id.in_(left)).values(held=False)
    )
    waiting = select(JobGroupMember.group_id).where(JobGroupMember.held)
    groups = select(JobGroup).where(JobGroup.id.in_(waiting)).order_by(JobGroup.id).with_for_update(skip_locked=True)
    released = []
    for group in session.scalars(groups).all():
        room = (group.max_parallel or 0) - _places_taken(session, group.id)
        held = select(JobGroupMember).filter_by(group_id=group.id, held=True).order_by(JobGroupMember.number)
        for member in session.scalars(held.limit(max(room, 0))).all():
            member.held = False
            job = session.get_one(Job, member.job_id)
            change_status(session, job, JobStatus.QUEUED, "Its group has room for another job.", PLATFORM)
            released.append(job.id)
    session.flush()
    return released


def members(session: Session, group: JobGroup, metric: str, goal: Goal) -> list[Member]:
    """All jobs of the group, the best objective first, those without one last."""
    query = select(Job, JobGroupMember).join(JobGroupMember, JobGroupMember.job_id == Job.id)
    rows = session.execute(query.where(JobGroupMember.group_id == group.id).order_by(JobGroupMember.number))
    found = [Member(job, row.number, row.values, objective(job, metric)) for job, row in rows]
    sign = -1.0 if goal == Goal.MAXIMIZE else 1.0
    return sorted(found, key=lambda one: (one.objective is None, sign * (one.objective or 0.0)))


def metrics_of(jobs: Iterable[Job]) -> list[str]:
    """The figures and metrics by which at least one of the jobs can be compared, in the order of their names."""
    values = (figures for job in jobs for figures in (job.summary or {}, job.latest_metrics, job.earlier_metrics))
    return sorted({name for figures in values for name in figures if not name.endswith(("_low", "_high"))})


def places_of(session: Session, job_ids: Sequence[str]) -> dict[str, tuple[JobGroupMember, str]]:
    """The membership of each of these jobs that is in a group, and the name of the group. One query."""
    query = select(JobGroupMember, JobGroup.name).join(JobGroup, JobGroup.id == JobGroupMember.group_id)
    return {row.job_id: (row, name) for row, name in session.execute(query.where(JobGroupMember.job_id.in_(job_ids)))}


def objective(job: Job, metric: str) -> float | None:
    """The figure of the run's summary, else the newest value of the metric, also of an earlier stage.

    The score of earlier stages is the last of the sparkline. With several seeds, the newest score is that of one of them, and
    the sparkline has the mean.
    """
    is_score = metric == SCORE
    latest = {} if is_score and len(seeds_of(job)) > 1 else job.latest_metrics
    for figures in (job.summary, latest, {} if is_score else job.earlier_metrics):
        if figures and metric in figures:
            return float(figures[metric])
    scores = sparkline.means(job.reward_line) if is_score else []
    return scores[-1] if scores else None


def interval(job: Job, metric: str) -> tuple[float, float] | None:
    """The 95 % interval of the objective over the seeds of a job with several, once it has finished."""
    summary = job.summary or {}
    if len(seeds_of(job)) == 1 or metric not in summary or f"{metric}_low" not in summary:
        return None
    return float(summary[f"{metric}_low"]), float(summary[f"{metric}_high"])


def open_jobs(session: Session, group_id: str) -> Sequence[str]:
    """The jobs that a cancel ends. Held ones come first, so that none of them is released meanwhile."""
    ended = (*TERMINAL, JobStatus.CANCELLING)
    query = select(Job.id).join(JobGroupMember, JobGroupMember.job_id == Job.id)
    query = query.where(JobGroupMember.group_id == group_id, Job.status.not_in(ended))
    return session.scalars(query.order_by(JobGroupMember.held.desc(), JobGroupMember.number)).all()


def cancel_member(session: Session, job_id: str, actor: Actor) -> None:
    """Cancel the job, unless it has ended meanwhile."""
    job = session.get(Job, job_id)
    if job is None:
        return
    try:
        request(session, job, Request.CANCEL, actor, "The group was cancelled.")
    except IllegalTransition:
        return


def _places_taken(session: Session, group_id: str) -> int:
    session.flush()
    query = select(func.count()).select_from(JobGroupMember).join(Job, Job.id == JobGroupMember.job_id)
    return session.scalars(query.where(JobGroupMember.group_id == group_id, Job.status.in_(_TAKES_A_PLACE))).one()
