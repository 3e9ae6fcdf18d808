"""The findings over an owner's jobs, and the gravest finding of each job in a list."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row, case, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from core.models import Job, JobFinding, Severity
from core.models.jobs import JobStatus
from core.paging import Order, Page, page, position

_ACTIONS = {"stop": 3, "roll_back": 2, "pause": 1}
_GRAVITY = case({Severity.ERROR.value: 1}, value=JobFinding.severity, else_=0) * 10 + case(
    _ACTIONS, value=JobFinding.action, else_=0
)
"""Orders findings by severity, and equal ones by the action of the run."""


@dataclass(frozen=True)
class FindingFilter:
    """Conditions on findings. All of them must hold."""

    severities: Sequence[Severity] = ()
    """One of these."""
    rules: Sequence[str] = ()
    """One of these health rules, or `message` for the warnings of runs."""
    job: str | None = None
    """Id of the job. One that the owner does not have has no findings."""
    statuses: Sequence[JobStatus] = ()
    """The job is in one of these states."""
    archived: bool = False
    """Findings of archived jobs instead of the others."""


@dataclass(frozen=True)
class JobHealth:
    """The gravest finding of a job, and how many it has."""

    finding: JobFinding
    count: int


def list_findings(
    session: Session, owner_id: str, wanted: FindingFilter, after: str | None, limit: int, order: Order
) -> tuple[Page[JobFinding], dict[str, Row[str, str, str]]]:
    """A page of the findings of the owner's jobs, and the name and status of each job by its id. Raises InvalidRequest.

    They are ordered by the time of the first report. So a finding keeps its place when a rule fires again.
    """
    owned = select(JobFinding).where(JobFinding.owner_id == owner_id)
    archived = Job.archived_at.is_not(None)
    query = owned.join(Job, Job.id == JobFinding.job_id).where(archived if wanted.archived else ~archived)
    if wanted.severities:
        query = query.where(JobFinding.severity.in_([one.value for one in wanted.severities]))
    if wanted.rules:
        query = query.where(func.coalesce(JobFinding.rule, "message").in_(wanted.rules))
    if wanted.job is not None:
        query = query.where(JobFinding.job_id == wanted.job)
    if wanted.statuses:
        query = query.where(Job.status.in_([one.value for one in wanted.statuses]))
    start = None if after is None else position(session, owned, JobFinding, after)  # the filter may leave it out by now
    found = page(session, query, JobFinding, start, limit, order)
    jobs = select(Job.id, Job.name, Job.status).where(Job.id.in_({one.job_id for one in found.items}))
    return found, {row.id: row for row in session.execute(jobs)}


def health_of(session: Session, job_ids: Sequence[str]) -> dict[str, JobHealth]:
    """The health of each of the jobs that has findings. Equally grave findings: the last one counts. One query."""
    gravest = (_GRAVITY.desc(), JobFinding.last_at.desc(), JobFinding.id)
    count = func.count().over(partition_by=JobFinding.job_id)
    query = select(JobFinding, count).where(JobFinding.job_id.in_(job_ids))
    query = query.ext(distinct_on(JobFinding.job_id))
    rows = session.execute(query.order_by(JobFinding.job_id, *gravest))
    return {row.job_id: JobHealth(row, number) for row, number in rows}
