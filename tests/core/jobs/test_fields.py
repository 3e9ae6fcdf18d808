"""Fields of the spec and metrics of the run as columns, order and conditions of the list."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from core.errors import InvalidRequest
from core.jobs.groups.groups import objective
from core.jobs.overview.fields import JobField, metric_value, read_conditions, read_fields, shown_values
from core.jobs.overview.listing import JobFilter, list_jobs
from core.jobs.overview.sorting import read_sort
from core.models import Job
from tests.core.jobs.test_sorting import store

# Newest first.
SPECS: list[dict[str, Any]] = [
    {"ppo": {"kl": {"coef": 0.1}, "stop": None}, "seed": 3},
    {"ppo": {"kl": {"coef": 0.2}}, "seed": 10},
    {"ppo": {"kl": {"coef": "auto"}}},
    {"rewards": [{"type": "length", "target": 40}]},
]
FIGURES: list[dict[str, Any]] = [
    {"summary": {"win_rate": 0.5}, "earlier_metrics": {"reward/length": 2.0, "kl": 1.0}},
    {"latest_metrics": {"reward/length": 10.0}, "earlier_metrics": {"reward/length": 99.0}},
    {"summary": {"win_rate": -1.0}},
    {},
]


@pytest.fixture
def jobs(session: Session) -> list[Job]:
    ids = store(session, [{"name": "", **row} for row in FIGURES])
    rows = [session.get_one(Job, id_) for id_ in ids]
    for row, spec in zip(rows, SPECS, strict=True):
        row.spec = spec
    session.flush()
    return rows


def numbers(session: Session, *where: str, sort: str = "-created", size: int = 100) -> str:
    """The numbers of the jobs that match, in pages of the size."""
    found: list[str] = []
    while True:
        wanted = JobFilter(where=read_conditions(where))
        page = list_jobs(session, "own_1", wanted, found[-1] if found else None, size, read_sort(sort))
        found += [job.id for job in page.items]
        if not page.has_more:
            return "".join(id_.removeprefix("job_") for id_ in found)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("spec:ppo.kl.coef=0.1", "0"),
        ("spec:ppo.kl.coef = 1e-1", "0"),
        ("spec:ppo.kl.coef!=0.1", "123"),  # also without the field
        ("spec:ppo.kl.coef>=0.1", "01"),  # a text is no number
        ("spec:ppo.kl.coef<0.2", "0"),
        ("spec:ppo.kl.coef=auto", "2"),
        ("spec:ppo.kl.coef=null", "3"),
        ("spec:ppo.kl.coef!=null", "012"),
        ("spec:rewards.0.target=40", "3"),
        ('spec:rewards=[{"target": 40, "type": "length"}]', "3"),
        ("metric:win_rate>0", "0"),
        ("metric:win_rate=null", "13"),
        ("metric:reward/length>=2", "01"),
        ("metric:reward/length!=10", "023"),
    ],
)
def test_condition_selects_jobs(session: Session, jobs: list[Job], condition: str, expected: str) -> None:
    assert numbers(session, condition) == expected


def test_all_conditions_hold(session: Session, jobs: list[Job]) -> None:
    assert numbers(session, "spec:ppo.kl.coef>=0.1", "metric:reward/length>5") == "1"


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("spec:seed", "0123"),
        ("-spec:seed", "1023"),  # by size, not by text
        ("spec:ppo.kl.coef", "2013"),  # JSON has texts before numbers
        ("-spec:ppo.kl.coef", "1023"),
        ("metric:reward/length", "0123"),
        ("-metric:reward/length", "1023"),
        ("-metric:nobody/has_it", "0123"),
    ],
)
def test_columns_sort_in_pages(session: Session, jobs: list[Job], sort: str, expected: str) -> None:
    assert [numbers(session, sort=sort, size=size) for size in (100, 1)] == [expected, expected]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ppo.kl.coef", "'ppo.kl.coef' names no column. Write `spec:`"),
        ("spec:ppo.kl.koef", "`ppo.kl` has an unknown field 'koef'; did you mean 'coef'?"),
        ("spec:reward", "unknown field 'reward'; did you mean"),
        ("spec:seed.first", "`seed` has an unknown field 'first'"),
        ("metric:", "names no column"),
        ("metric:a\0b", "NUL"),
    ],
)
def test_unknown_column_is_refused(text: str, error: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_fields([text])
    assert error in raised.value.detail and raised.value.extras["param"] == "show"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("spec:seed", "is no condition"),
        ("spec:seed>three", "compares with a number"),
        ("spec:seed>true", "compares with a number"),
        ("metric:win_rate=good", "with a number or with null"),
        ("metric:win_rate>NaN", "cannot be NaN"),
        ("metric:win_rate>1e999", "too large"),
        ("spec:name=\0", "NUL"),
        ("spec:sed>1", "did you mean 'seed'?"),
    ],
)
def test_unreadable_condition_is_refused(text: str, error: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_conditions([text])
    assert error in raised.value.detail and raised.value.extras["param"] == "where"


def test_unknown_order_names_the_nearest() -> None:
    with pytest.raises(InvalidRequest, match="unknown order 'win_rat'; did you mean 'win_rate'"):
        read_sort("-win_rat")


def test_shown_values_are_those_of_the_spec_and_run(session: Session, jobs: list[Job]) -> None:
    fields = read_fields(["spec:ppo.kl.coef", "spec:rewards", "metric:reward/length"])
    found = shown_values(session, [jobs[1].id, jobs[3].id], fields)
    assert found[jobs[1].id] == {"spec:ppo.kl.coef": 0.2, "spec:rewards": None, "metric:reward/length": 10.0}
    assert found[jobs[3].id]["spec:rewards"] == [{"type": "length", "target": 40}]


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("metric", ["objective/scores", "win_rate", "reward/length", "kl"])
def test_metric_in_sql_is_the_objective(session: Session, metric: str, seeds: int) -> None:
    rows = [
        {"latest_metrics": {"objective/scores": 1.0}, "reward_line": {"bits": 0, "buckets": [[0, 9.0, 1]]}},
        {"earlier_metrics": {"objective/scores": 1.0, "kl": 2.0}, "reward_line": {"bits": 0, "buckets": [[0, 9.0, 1]]}},
        {"summary": {"objective/scores": 4.0, "win_rate": 0.5}},
        *FIGURES,
    ]
    for id_ in (ids := store(session, [{"name": "", **row} for row in rows])):
        session.get_one(Job, id_).spec = {"seeds": seeds}
    session.flush()
    stored = [session.get_one(Job, id_) for id_ in ids]
    found = [session.query(metric_value(metric)).filter(Job.id == id_).scalar() for id_ in ids]
    assert found == [objective(job, metric) for job in stored]


def test_column_names_are_written_back() -> None:
    assert str(JobField.parse("metric:reward/length")) == "metric:reward/length"
