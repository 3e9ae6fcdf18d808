"""The list of jobs in the order of a figure: pages by keyset, and the jobs without the figure last."""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Double,
    Select,
    SQLColumnExpression,
    Text,
    and_,
    case,
    cast,
    func,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import Session

from core.models import Job, JobAttempt, JobGroup, JobGroupMember
from core.models.jobs import JobStatus
from core.paging import Page, unknown_cursor

JobSort = Literal[
    "name", "-name",
    "status", "-status",
    "model", "-model",
    "progress", "-progress",
    "reward", "-reward",
    "kl", "-kl",
    "win_rate", "-win_rate",
    "judge", "-judge",
    "group", "-group",
    "created", "-created",
    "ended", "-ended",
    "duration", "-duration",
    "gpu_hours", "-gpu_hours",
    "submitted_by", "-submitted_by",
]  # fmt: skip
"""The figure that a list of jobs is sorted by. `-` in front: descending."""


def _group() -> SQLColumnExpression[Any]:
    """The name of the group in lower case, its id, so that groups of one name stay apart, and the job's number."""
    number = func.lpad(cast(JobGroupMember.number, Text), 9, "0")
    group = select(func.lower(JobGroup.name) + " " + JobGroup.id + " " + number).join(JobGroupMember)
    return group.where(JobGroupMember.job_id == Job.id).scalar_subquery()


_SECONDS = func.extract("epoch", func.coalesce(JobAttempt.ended_at, func.now()) - JobAttempt.started_at)
GPU_HOURS = func.sum(JobAttempt.slots * func.greatest(_SECONDS, 0)) / 3600
"""The GPU-hours of attempts, those of a running attempt until now."""
_VALUES: dict[str, SQLColumnExpression[Any]] = {
    "name": func.lower(Job.name),
    "status": case({status.value: number for number, status in enumerate(JobStatus)}, value=Job.status),
    "model": func.lower(Job.model),
    "progress": case((and_(Job.status == JobStatus.SUCCEEDED, Job.stage.is_not(None)), 1.0), else_=Job.fraction),
    "reward": Job.reward,
    "kl": Job.kl,
    "win_rate": Job.win_rate,
    "judge": cast(Job.summary["judge_after"].astext, Double),
    "group": _group(),
    "created": Job.created_at,
    "ended": Job.finished_at,
    "duration": func.coalesce(Job.finished_at, func.now()) - Job.started_at,
    "gpu_hours": func.coalesce(select(GPU_HOURS).where(JobAttempt.job_id == Job.id).scalar_subquery(), 0),
    "submitted_by": func.lower(Job.submitted_by),
}
"""The figure of a job by the name in `JobSort`; SQL null where a job has none."""


def sorted_page(
    session: Session, jobs: Select[Job], wanted: Select[Job], sort: JobSort, after: str | None, limit: int
) -> Page[Job]:
    """At most `limit` of the `wanted` jobs. Equal ones follow each other newest first, whatever the direction.

    `after` is the id of one of `jobs`. Raises InvalidRequest for any other one.
    """
    value = _VALUES[sort.removeprefix("-")]
    descending = sort.startswith("-")
    # Materialised, because some values are subqueries, and the conditions below name the value several times.
    keys = wanted.with_only_columns(Job.id, Job.created_at, value.label("value")).cte().prefix_with("MATERIALIZED")
    query = select(keys.c.id)
    if after is not None:
        seen = session.execute(
            jobs.where(Job.id == after).with_only_columns(value, Job.created_at, Job.id)
        ).one_or_none()
        if seen is None:
            raise unknown_cursor()
        query = query.where(_follows(keys.c, descending, *seen))
    order = (keys.c.value.desc() if descending else keys.c.value.asc()).nulls_last()
    ids = session.scalars(query.order_by(order, keys.c.created_at.desc(), keys.c.id.desc()).limit(limit + 1)).all()
    rows = {job.id: job for job in session.scalars(select(Job).where(Job.id.in_(ids[:limit])))}
    return Page([rows[one] for one in ids if one in rows], len(ids) > limit)


def _follows(key: Any, descending: bool, value: Any, created_at: datetime, job_id: str) -> ColumnElement[bool]:
    """Whether a job with the columns `key` comes after the one with the values."""
    older = tuple_(key.created_at, key.id) < tuple_(created_at, job_id)
    if value is None:
        return and_(key.value.is_(None), older)
    further = key.value < value if descending else key.value > value
    return or_(further, and_(key.value == value, older), key.value.is_(None))
