"""Sweeps, and groups of jobs."""

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.acts import act_of
from api.deps import After, Force, Limit, OrderBy, PrincipalDep, QueueingDep, SessionDep, SettingsDep
from api.groups.schemas import Group, GroupJob, GroupList, GroupRequest, GroupSummary, PlannedJob, SweepPlan
from api.idempotency import IDEMPOTENT
from api.problems import BadRequest, documented
from api.validation import StrictRoute
from core.audit.recording import record
from core.broker import wake_worker
from core.db import after_commit, session_scope
from core.errors import (
    BlockedByValidation,
    CheckpointDamaged,
    CrossOrigin,
    DatasetDamaged,
    InvalidRequest,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    NotSignedIn,
    QuotaExceeded,
    TooLarge,
    WrongCheckpoint,
    WrongDatasetKind,
    WrongMediaType,
)
from core.jobs.groups import groups, sweeps
from core.jobs.groups.sweep_spec import SweepSpec
from core.jobs.lifecycle.actors import key_of
from core.jobs.run.seeds import seeds_of
from core.models import JobGroup
from core.models.groups import Goal
from core.paging import page

router = APIRouter(tags=["Groups"], route_class=StrictRoute)
CHANGE = (BadRequest, NotSignedIn, CrossOrigin, TooLarge, WrongMediaType, InvalidRequest)
SUBMIT = (
    *CHANGE,
    NotFound,
    InvalidSpec,
    WrongDatasetKind,
    LimitExceeded,
    WrongCheckpoint,
    CheckpointDamaged,
    DatasetDamaged,
    QuotaExceeded,
)


@router.post("/sweeps", status_code=201, dependencies=IDEMPOTENT, responses=documented(*SUBMIT, BlockedByValidation))
def create_sweep(
    body: SweepSpec,
    principal: PrincipalDep,
    session: SessionDep,
    settings: SettingsDep,
    queueing: QueueingDep,
    force: Force = False,
) -> Group:
    """Submit a job for each combination of values, all or none. They form a group."""
    actor = key_of(principal)
    group = sweeps.create_sweep(session, principal.owner_id, body, settings, actor, queueing, force=force)
    after_commit(session, lambda: wake_worker(settings.redis_url))
    return _view(session, group, group.metric)


@router.post("/sweeps/validate", responses=documented(*CHANGE, InvalidSpec, LimitExceeded))
def validate_sweep(body: SweepSpec, principal: PrincipalDep, settings: SettingsDep) -> SweepPlan:
    """List the jobs that the sweep would make, each with a valid spec. Nothing is stored, and no dataset is looked up."""
    jobs = sweeps.planned_jobs(body, settings)
    return SweepPlan(jobs=[PlannedJob(number=job.number, name=job.spec.name, values=job.values) for job in jobs])


@router.post("/groups", status_code=201, dependencies=IDEMPOTENT, responses=documented(*CHANGE))
def create_group(body: GroupRequest, principal: PrincipalDep, session: SessionDep) -> Group:
    """Make a group without jobs."""
    group = groups.create_group(session, principal.owner_id, body.name, body.metric, body.max_parallel, goal=body.goal)
    return _view(session, group, group.metric)


@router.get("/groups", responses=documented(NotSignedIn, InvalidRequest))
def list_groups(
    principal: PrincipalDep, session: SessionDep, limit: Limit = 20, after: After = None, order: OrderBy = "desc"
) -> GroupList:
    """Your groups, without their jobs."""
    query = select(JobGroup).filter_by(owner_id=principal.owner_id)
    found = page(session, query, JobGroup, after, limit, order)
    return GroupList.from_items([GroupSummary.model_validate(row) for row in found.items], found.has_more)


@router.get("/groups/{group_id}", responses=documented(NotSignedIn, NotFound, InvalidRequest))
def get_group(
    group_id: str,
    principal: PrincipalDep,
    session: SessionDep,
    metric: Annotated[str | None, Query(description="Compare by this figure or metric. Left out: the group's.")] = None,
    goal: Annotated[
        Goal | None, Query(description="Whether the highest or the lowest is the best. Left out: as the group has it.")
    ] = None,
) -> Group:
    """One group: its jobs with their values, their states and their objectives."""
    group = groups.group_of(session, principal.owner_id, group_id)
    return _view(session, group, metric or group.metric, goal)


@router.post("/groups/{group_id}/cancel", responses=documented(NotSignedIn, CrossOrigin, NotFound, InvalidRequest))
def cancel_group(
    group_id: str, request: Request, principal: PrincipalDep, session: SessionDep, settings: SettingsDep
) -> Group:
    """Cancel every job of the group that has not ended, each in a transaction of its own. A second request changes nothing."""
    group = groups.group_of(session, principal.owner_id, group_id)
    for job_id in groups.open_jobs(session, group.id):
        with session_scope(settings.database_url) as one:
            record(one, lambda: act_of(request))
            groups.cancel_member(one, job_id, key_of(principal))
    session.expire_all()
    return _view(session, group, group.metric)


def _view(session: Session, group: JobGroup, metric: str, goal: Goal | None = None) -> Group:
    goal = goal or Goal(group.goal)
    found = groups.members(session, group, metric, goal)
    summary = GroupSummary.model_validate(group).model_dump()
    jobs = [
        GroupJob(
            id=one.job.id,
            number=one.number,
            name=one.job.name,
            status=one.job.status,
            status_reason=one.job.status_reason,
            values=one.values,
            objective=one.objective,
            objective_low=low,
            objective_high=high,
            seeds=len(seeds_of(one.job)),
        )
        for one in found
        for low, high in [groups.interval(one.job, metric) or (None, None)]
    ]
    statuses = Counter(one.job.status for one in found)
    compared = {"metric": metric, "goal": goal, "metrics": groups.metrics_of(one.job for one in found)}
    return Group.model_validate(summary | compared | {"statuses": dict(statuses), "jobs": jobs})
