"""Lists in which one job stands for each group, with counts of the others by state and the best of them."""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Select, and_, case, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from core.jobs.overview.fields import metric_value
from core.models import Job, JobGroup, JobGroupMember
from core.models.groups import Goal
from core.models.jobs import JobStatus
from data.findings import Described


class BestOfGroup(Described):
    """The job of a group with the best objective."""

    job: str
    """Its id."""
    name: str
    """Its name."""
    number: int
    """Its place in the group, from 1."""
    values: dict[str, Any]
    """The fields of the spec that differ between the jobs of a sweep, by path."""
    objective: float
    """Its objective."""


class FoldedGroup(Described):
    """The jobs of a group that a list shows as one."""

    group_id: str
    """Id of the group."""
    name: str
    """Its name."""
    sweep: bool
    """Whether a sweep made it."""
    metric: str
    """The objective by which its jobs are compared."""
    goal: Goal
    """Whether the highest or the lowest objective is the best."""
    jobs: int
    """Number of its jobs that match the filters."""
    statuses: dict[JobStatus, int]
    """Number of these jobs in each state that occurs."""
    best: BestOfGroup | None
    """The best of these jobs; null if none has a value of the objective."""


class Conditions(Protocol):
    """Conditions on a job."""

    def conditions(self, owner_id: str, job: type[Job] = ...) -> list[ColumnElement[bool]]: ...


def newest_of_each(jobs: Select[Job], owner_id: str, wanted: Conditions, *, oldest: bool = False) -> Select[Job]:
    """The jobs without those that another matching job of their group stands for: the one that joined last, or first."""
    own, other, job = JobGroupMember, aliased(JobGroupMember), aliased(Job)
    later = other.number < own.number if oldest else other.number > own.number
    stands_in = (
        select(other.job_id)
        .join(job, job.id == other.job_id)
        .where(other.group_id == own.group_id, later, job.owner_id == owner_id, *wanted.conditions(owner_id, job))
    )
    return jobs.outerjoin(own, own.job_id == Job.id).where(~stands_in.exists())


def folded_groups(session: Session, owner_id: str, wanted: Conditions, jobs: Sequence[Job]) -> dict[str, FoldedGroup]:
    """The groups that the jobs of a page stand for, by the job's id. A job that stands for itself alone has none."""
    places = select(JobGroupMember.group_id, JobGroupMember.job_id)
    rows = session.execute(places.where(JobGroupMember.job_id.in_([job.id for job in jobs])))
    of_group = {group_id: job_id for group_id, job_id in rows}  # noqa: C416
    if not of_group:
        return {}
    own = and_(JobGroupMember.group_id.in_(of_group), Job.owner_id == owner_id, *wanted.conditions(owner_id))
    counts: dict[str, dict[JobStatus, int]] = {}
    by_status = select(JobGroupMember.group_id, Job.status, func.count()).join(Job).where(own)
    for group_id, status, number in session.execute(by_status.group_by(JobGroupMember.group_id, Job.status)):
        counts.setdefault(group_id, {})[JobStatus(status)] = number
    several = [group_id for group_id, found in counts.items() if sum(found.values()) > 1]
    groups = session.scalars(select(JobGroup).where(JobGroup.id.in_(several))).all()
    best = _best(session, own)
    return {of_group[group.id]: _folded(group, counts[group.id], best.get(group.id)) for group in groups}


def _folded(group: JobGroup, statuses: dict[JobStatus, int], best: BestOfGroup | None) -> FoldedGroup:
    return FoldedGroup(
        group_id=group.id,
        name=group.name,
        sweep=group.sweep is not None,
        metric=group.metric,
        goal=Goal(group.goal),
        jobs=sum(statuses.values()),
        statuses=statuses,
        best=best,
    )


def _best(session: Session, own: ColumnElement[bool]) -> dict[str, BestOfGroup]:
    value = metric_value(JobGroup.metric)
    rank = case((JobGroup.goal == Goal.MINIMIZE, value), else_=-value)
    query = (
        select(JobGroup.id, Job.id, Job.name, JobGroupMember.number, JobGroupMember.values, value)
        .join(JobGroupMember, JobGroupMember.group_id == JobGroup.id)
        .join(Job, Job.id == JobGroupMember.job_id)
        .where(own, value.is_not(None))
        .ext(distinct_on(JobGroup.id))
        .order_by(JobGroup.id, rank, JobGroupMember.number)
    )
    return {
        group: BestOfGroup(job=job, name=name, number=number, values=values, objective=objective)
        for group, job, name, number, values, objective in session.execute(query)
    }
