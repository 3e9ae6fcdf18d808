"""Lists in which one job stands for each group."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.jobs.overview.fields import read_conditions
from core.jobs.overview.folding import FoldedGroup, folded_groups
from core.jobs.overview.listing import JobFilter, list_jobs
from core.jobs.overview.sorting import read_sort
from core.models import Job, JobGroup, JobGroupMember, Project
from core.models.groups import Goal
from core.models.jobs import JobStatus
from tests.core.jobs.test_sorting import NOON, store

# Newest first: jobs 1, 3 and 4 are of the group "grp_a", and job 2 is alone in "grp_b".
ROWS: list[dict[str, Any]] = [
    {"name": "single"},
    {"name": "a3", "summary": {"win_rate": 0.7}, "status": "succeeded", "finished_at": NOON},
    {"name": "b1", "summary": {"win_rate": 0.8}},
    {"name": "a2", "summary": {"win_rate": 0.9}, "tags": ["good"]},
    {"name": "a1", "archived_at": None, "tags": ["good"]},
]
PLACES = {1: ("grp_a", 3), 2: ("grp_b", 1), 3: ("grp_a", 2), 4: ("grp_a", 1)}
ALL = JobFilter()


@pytest.fixture
def ids(session: Session) -> list[str]:
    ids = store(session, ROWS)
    for group in ("grp_a", "grp_b"):
        session.merge(JobGroup(id=group, owner_id="own_1", name=group, metric="win_rate"))
    session.flush()
    for job, (group, number) in PLACES.items():
        session.add(JobGroupMember(job_id=ids[job], group_id=group, number=number, values={"seed": number}, held=False))
    session.flush()
    return ids


def listed(session: Session, wanted: JobFilter = ALL, sort: str = "-created", size: int = 100) -> str:
    found: list[str] = []
    while True:
        page = list_jobs(session, "own_1", wanted, found[-1] if found else None, size, read_sort(sort), fold=True)
        found += [job.id for job in page.items]
        if not page.has_more:
            return "".join(id_.removeprefix("job_") for id_ in found)


def folded(session: Session, job_id: str, wanted: JobFilter = ALL) -> FoldedGroup | None:
    return folded_groups(session, "own_1", wanted, [session.get_one(Job, job_id)]).get(job_id)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("-created", "012"),
        ("created", "420"),
        ("-win_rate", "320"),  # the best of the group stands for it
        ("win_rate", "120"),
        ("name", "420"),
        ("-metric:win_rate", "320"),
    ],
)
def test_first_job_stands_for_its_group(session: Session, ids: list[str], sort: str, expected: str) -> None:
    assert [listed(session, sort=sort, size=size) for size in (100, 1)] == [expected, expected]


def test_only_matching_jobs_stand_for_a_group(session: Session, ids: list[str]) -> None:
    wanted = JobFilter(tags=["good"])
    assert listed(session, wanted) == "3"
    found = folded(session, ids[3], wanted)
    assert found is not None and (found.jobs, found.statuses) == (2, {JobStatus.QUEUED: 2})


def test_group_has_counts_and_the_best_job(session: Session, ids: list[str]) -> None:
    found = folded(session, ids[1])
    assert found is not None and found.best is not None
    assert (found.jobs, found.statuses) == (3, {JobStatus.SUCCEEDED: 1, JobStatus.QUEUED: 2})
    assert (found.best.job, found.best.objective, found.best.values) == (ids[3], 0.9, {"seed": 2})


def test_goal_decides_which_job_is_the_best(session: Session, ids: list[str]) -> None:
    session.get_one(JobGroup, "grp_a").goal = Goal.MINIMIZE
    session.flush()
    found = folded(session, ids[1])
    assert found is not None and found.best is not None and found.best.job == ids[1]


def test_group_without_an_objective_has_no_best_job(session: Session, ids: list[str]) -> None:
    session.get_one(JobGroup, "grp_a").metric = "nobody/has_it"
    session.flush()
    found = folded(session, ids[1])
    assert found is not None and found.best is None


def test_single_matching_job_is_not_folded(session: Session, ids: list[str]) -> None:
    assert folded(session, ids[2]) is None and folded(session, ids[0]) is None
    assert folded(session, ids[3], JobFilter(where=read_conditions(["metric:win_rate>0.85"]))) is None


def test_archived_jobs_of_a_group_are_folded_apart(session: Session, ids: list[str]) -> None:
    for number in (3, 4):
        session.get_one(Job, ids[number]).archived_at = NOON
    session.flush()
    assert listed(session) == "012" and listed(session, JobFilter(archived=True)) == "3"
    assert folded(session, ids[1]) is None


def test_jobs_of_another_owner_do_not_count(session: Session, ids: list[str]) -> None:
    session.merge(Project(id="own_2", name="other"))
    session.flush()
    session.get_one(Job, ids[1]).owner_id = "own_2"
    session.flush()
    assert listed(session) == "023"


def test_group_filter_lists_the_jobs_of_a_group(session: Session, ids: list[str]) -> None:
    found = list_jobs(session, "own_1", JobFilter(group="grp_a"), None, 100)
    assert [job.id for job in found.items] == [ids[1], ids[3], ids[4]]
