"""The query of the list of jobs: filters, order, columns and folding."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, get_args

from fastapi import Depends, Query
from pydantic import AwareDatetime

from api.deps import ExternalIdFilter, OrderBy, oldest_first
from core.errors import InvalidRequest
from core.jobs.lifecycle.descriptions import normal_tag
from core.jobs.overview.fields import Condition, JobField, read_conditions, read_fields
from core.jobs.overview.listing import JobFilter, JobHealthFilter
from core.jobs.overview.sorting import JobOrder, JobSort, read_sort
from core.models.jobs import JobStatus
from data.parse import bad_text

_NAMES = ", ".join(f"`{name}`" for name in get_args(JobSort) if not name.startswith("-"))
_SORT = (
    f"Order of the list: {_NAMES}, or a column as in `show`, such as `metric:reward/length`; with `-` in front, descending. Jobs without a value come last, and equal ones newest "
    "first. `status` follows the life of a job. `health` is the severity of the gravest finding. `reward` is the score in PPO, and `judge` is that of the held-out comparison. "
    "`duration` counts until now for a job that has not ended. "
    "Texts of a field come before its numbers. The values of running jobs change, so a later page may miss or repeat a job."
)
_WHERE = (
    "Only jobs that fulfil this condition (all of these, at most 10). It is a column as in `show`, one of `=`, `!=`, `<`, "
    "`<=`, `>`, `>=`, and a value in JSON or a text. Examples: `spec:ppo.kl.coef>=0.1`, `spec:model.path=gpt2`, `metric:win_rate>0.6`. A job "
    "without a value fulfils `= null`, and `!=` with any other value."
)
_SHOW = (
    "Columns to return as `shown` (at most 20). `spec:` names a field of the spec, such as `spec:ppo.kl.coef`. `metric:` names "
    "a figure of the summary or a metric, such as `metric:reward/length`. A metric has the newest value of its stage; after "
    "several seeds, the mean."
)
_FOLD = (
    "One job stands for each group: the first of its jobs in this order that match. `folded` has their number by state and the "
    "best of them. `group` lists them."
)
_TEXT = "Only jobs with these words. Each is the beginning of a word of the name, notes or tags, or of the id."


def invalid(name: str, detail: str) -> InvalidRequest:
    return InvalidRequest(f"`{name}`: {detail}.", param=name, errors=[{"pointer": f"?{name}", "detail": detail}])


@dataclass(frozen=True)
class MoreFilters:
    """Filters by state, group and values."""

    statuses: Sequence[JobStatus] = ()
    health: Sequence[JobHealthFilter] = ()
    archived: bool = False
    group: str | None = None
    text: str | None = None
    where: Sequence[Condition] = ()


NO_MORE = MoreFilters()


def _more_filters(
    status: Annotated[list[JobStatus] | None, Query(description="Only jobs in this state (or one of these).")] = None,
    health: Annotated[
        list[JobHealthFilter] | None,
        Query(description="Only jobs whose gravest finding has this severity (or one of these). `none`: no finding."),
    ] = None,
    archived: Annotated[bool, Query(description="Archived jobs instead of the others.")] = False,
    group: Annotated[str | None, Query(description="Only jobs of this group, `grp_…`.")] = None,
    text: Annotated[str | None, Query(min_length=1, max_length=200, description=_TEXT)] = None,
    where: Annotated[list[str] | None, Query(description=_WHERE)] = None,
) -> MoreFilters:
    """Raises InvalidRequest."""
    _check_texts(group=group, text=text)
    return MoreFilters(status or (), health or (), archived, group, text, read_conditions(where or ()))


def _check_texts(**texts: str | None) -> None:
    for name, value in texts.items():
        if value is not None and bad_text(value):
            raise invalid(name, "holds a NUL character or half of a surrogate pair")


def job_filter(
    tag: Annotated[list[str] | None, Query(description="Only jobs with this tag (with all of these).")] = None,
    model: Annotated[str | None, Query(description="Only jobs whose `model.path` is this one.")] = None,
    dataset: Annotated[
        str | None,
        Query(description="Only jobs that read this dataset, `ds_…`, or this version, `ds_…@2` or `dv_…`."),
    ] = None,
    external_id: ExternalIdFilter = None,
    parent: Annotated[
        str | None,
        Query(description="Only jobs made from this job, `job_…`: clones, branches, extensions and continuations."),
    ] = None,
    created_after: Annotated[AwareDatetime | None, Query(description="Only jobs submitted after this time.")] = None,
    created_before: Annotated[AwareDatetime | None, Query(description="Only jobs submitted before this time.")] = None,
    more: Annotated[MoreFilters, Depends(_more_filters)] = NO_MORE,
) -> JobFilter:
    """The filters of the request. Raises InvalidRequest."""
    _check_texts(model=model, dataset=dataset, external_id=external_id, parent=parent)
    try:
        tags = [normal_tag(one) for one in tag or ()]
    except ValueError as error:
        raise invalid("tag", str(error)) from error
    return JobFilter(
        tags=tags,
        model=model,
        dataset=dataset,
        external_id=external_id,
        parent=parent,
        created_after=created_after,
        created_before=created_before,
        text=more.text,
        statuses=more.statuses,
        health=more.health,
        archived=more.archived,
        group=more.group,
        where=more.where,
    )


def job_order(
    order: OrderBy = "desc",
    sort: Annotated[str, Query(max_length=220, description=_SORT)] = "-created",
) -> JobOrder:
    """The order of the list. `order=asc` is short for `sort=created`. Raises InvalidRequest for `order=asc` with another `sort`."""
    return "created" if oldest_first(order, sort) else read_sort(sort)


@dataclass(frozen=True)
class ListLook:
    """Columns and folding of a list."""

    show: Sequence[JobField]
    fold: bool


def list_look(
    show: Annotated[list[str] | None, Query(description=_SHOW)] = None,
    fold: Annotated[bool, Query(description=_FOLD)] = False,
) -> ListLook:
    """Raises InvalidRequest."""
    return ListLook(read_fields(show or ()), fold)
