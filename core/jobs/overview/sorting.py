"""The list of jobs in the order of a figure."""

from dataclasses import dataclass
from typing import Any, Literal, get_args
from typing import cast as cast_type

from sqlalchemy import Double, Select, SQLColumnExpression, Text, and_, case, cast, func, select
from sqlalchemy.orm import Session

from core.jobs.overview.fields import JobField, read_fields, wrong_field
from core.models import Job, JobAttempt, JobGroup, JobGroupMember, Severity
from core.models.jobs import ACTIVE, JobStatus
from core.paging import Page, natural, sorted_page
from trainer.spec.validation_errors import unknown_name

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
    "health", "-health",
]  # fmt: skip
"""The figure that a list of jobs is sorted by. `-` in front: descending."""


def _group() -> SQLColumnExpression[Any]:
    """The name of the group in its natural order, its id, so that groups of one name stay apart, and the job's number."""
    number = func.lpad(cast(JobGroupMember.number, Text), 9, "0")
    group = select(natural(JobGroup.name) + " " + JobGroup.id + " " + number).join(JobGroupMember)
    return group.where(JobGroupMember.job_id == Job.id).scalar_subquery()


_SECONDS = func.extract("epoch", func.now() - JobAttempt.started_at)
_RUNNING = select(func.sum(JobAttempt.slots * func.greatest(_SECONDS, 0))).where(
    JobAttempt.job_id == Job.id, JobAttempt.ended_at.is_(None)
)
GPU_HOURS = (
    Job.gpu_seconds + case((Job.status.in_(ACTIVE), func.coalesce(_RUNNING.scalar_subquery(), 0)), else_=0)
) / 3600
"""The GPU-hours of a job's attempts, those of a running attempt until now."""
_VALUES: dict[str, SQLColumnExpression[Any]] = {
    "name": natural(Job.name),
    "status": case({status.value: number for number, status in enumerate(JobStatus)}, value=Job.status),
    "model": natural(Job.model),
    "progress": case((and_(Job.status == JobStatus.SUCCEEDED, Job.stage.is_not(None)), 1.0), else_=Job.fraction),
    "reward": Job.reward,
    "kl": Job.kl,
    "win_rate": Job.win_rate,
    "judge": cast(Job.summary["judge_after"].astext, Double),
    "group": _group(),
    "created": Job.created_at,
    "ended": Job.finished_at,
    "duration": func.coalesce(Job.finished_at, func.now()) - Job.started_at,
    "gpu_hours": GPU_HOURS,
    "submitted_by": natural(Job.submitted_by),
    "health": case({severity.value: number for number, severity in enumerate(Severity)}, value=Job.health),
}
"""The figure of a job by the name in `JobSort`; SQL null where a job has none."""


@dataclass(frozen=True)
class FieldSort:
    """The order by a field of the spec or a metric."""

    field: JobField
    descending: bool


JobOrder = JobSort | FieldSort


def read_sort(text: str) -> JobOrder:
    """The order that a request names: one of `JobSort`, or a column such as `-metric:reward/length`. Raises InvalidRequest."""
    if text in get_args(JobSort):
        return cast_type(JobSort, text)
    name = text.removeprefix("-")
    if ":" not in name:
        orders = list(dict.fromkeys(one.removeprefix("-") for one in get_args(JobSort)))
        raise wrong_field("sort", unknown_name("order", name, orders).rstrip("."))
    (field,) = read_fields([name], "sort")
    return FieldSort(field, text.startswith("-"))


def sorted_jobs(
    session: Session,
    jobs: Select[Job],
    wanted: Select[Job],
    sort: JobOrder,
    after: str | None,
    limit: int,
    *,
    fold: bool = False,
) -> Page[Job]:
    """At most `limit` of the `wanted` jobs. `after` is the id of one of `jobs`. Raises InvalidRequest for any other one.

    `fold`: the first job of each group stands for the others.
    """
    if isinstance(sort, FieldSort):
        by = (sort.field.value(), sort.descending)
    else:
        by = (_VALUES[sort.removeprefix("-")], sort.startswith("-"))
    of_group = None
    if fold:
        wanted = wanted.outerjoin(JobGroupMember, JobGroupMember.job_id == Job.id)
        of_group = func.coalesce(JobGroupMember.group_id, Job.id)
    return sorted_page(session, Job, jobs, wanted, by, after, limit, first_of=of_group)
