"""The order of the list of jobs, on rows whose figures are written by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from alembic import command
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from sqlalchemy import delete, text
from sqlalchemy.orm import Session

from core.db import engine_for
from core.errors import InvalidRequest
from core.jobs.overview.listing import JobFilter, list_jobs
from core.jobs.overview.sorting import JobSort
from core.models import Job, JobGroup, JobGroupMember, Project
from core.models.jobs import JobStatus
from tests.core.old_databases import database_at

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIGURES: dict[str, dict[str, Any]] = {
    "ann": {
        "name": "ann",
        "model": "b/model",
        "fraction": 0.25,
        "reward_line": {"bits": 0, "buckets": [[0, 9.0, 1], [1, 2.0, 1]]},
        "latest_metrics": {"objective/kl": 10.0},
        "health": "error",
        "started_at": NOON,
        "stage": "ppo",
        "submitted_by": "Zoe",
    },
    "Bob": {
        "name": "Bob",
        "model": "A/model",
        "fraction": 0.2,
        "status": "succeeded",
        "summary": {"kl": 2.5, "win_rate": 0.75, "judge_after": 1.5},
        "latest_metrics": {"objective/kl": 99.0},
        "reward_line": {"bits": 0, "buckets": [[0, -3.0, 1]]},
        "started_at": NOON,
        "finished_at": NOON + timedelta(hours=1),
        "stage": "evaluation",
        "submitted_by": "adam",
    },
    "cat": {
        "name": "cat",
        "status": "cancelled",
        "health": "warning",
        "started_at": NOON,
        "finished_at": NOON + timedelta(minutes=1),
        "summary": {"win_rate": 0.5, "judge_after": -2},
    },
    "old": {"name": "bob"},
}
"""Jobs by a letter or name, newest first."""


def store(session: Session, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Jobs of one owner, each a minute older than the one before. Returns their ids."""
    session.execute(delete(Job))
    session.merge(Project(id="own_1", name="owner"))
    session.flush()
    made = []
    for number, values in enumerate(rows):
        values = {"status": "queued", **values}
        model = values.pop("model", None)
        job = Job(id=f"job_{number}", owner_id="own_1", spec={"model": {"path": model}}, status_reason="", **values)
        job.created_at = NOON - timedelta(minutes=number)
        made.append(job)
    session.add_all(made)
    session.flush()
    return [job.id for job in made]


def ids(session: Session, sort: JobSort, size: int = 100) -> list[str]:
    """All jobs in pages of the size, each page after the last job of the one before."""
    found: list[str] = []
    while True:
        one = list_jobs(session, "own_1", JobFilter(), found[-1] if found else None, size, sort)
        found += [job.id for job in one.items]
        if not one.has_more:
            return found
        assert len(one.items) == size


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", "ann Bob old cat"),  # equal names: newest first
        ("-name", "cat Bob old ann"),
        ("status", "ann old Bob cat"),
        ("-status", "cat Bob ann old"),
        ("model", "Bob ann cat old"),
        ("-model", "ann Bob cat old"),
        ("progress", "ann Bob cat old"),
        ("-progress", "Bob ann cat old"),
        ("reward", "Bob ann cat old"),
        ("-reward", "ann Bob cat old"),
        ("kl", "Bob ann cat old"),
        ("-kl", "ann Bob cat old"),
        ("win_rate", "cat Bob ann old"),
        ("-win_rate", "Bob cat ann old"),
        ("judge", "cat Bob ann old"),
        ("-judge", "Bob cat ann old"),
        ("created", "old cat Bob ann"),
        ("-created", "ann Bob cat old"),
        ("ended", "cat Bob ann old"),
        ("-ended", "Bob cat ann old"),
        ("duration", "cat Bob ann old"),
        ("-duration", "ann Bob cat old"),
        ("submitted_by", "Bob ann cat old"),
        ("-submitted_by", "ann Bob cat old"),
        ("gpu_hours", "ann old cat Bob"),
        ("-gpu_hours", "Bob cat ann old"),
        ("group", "cat Bob ann old"),
        ("-group", "ann Bob cat old"),
        ("health", "cat ann Bob old"),
        ("-health", "ann cat Bob old"),
    ],
)
def test_list_is_sorted_with_absent_values_last(session: Session, sort: JobSort, expected: str) -> None:
    by_name = dict(zip(FIGURES, store(session, list(FIGURES.values())), strict=True))
    _hours(session, {by_name["Bob"]: 2, by_name["cat"]: 1})
    _groups(session, {"Early": [by_name["cat"], by_name["Bob"]], "late": [by_name["ann"]]})
    assert ids(session, sort) == [by_name[name] for name in expected.split()]


def test_numbers_in_names_are_sorted_by_their_values(session: Session) -> None:
    names = ["run-2", "Run-10", "run-10 b", "lr 0.05", "lr 0.1", "lr 0.25", "lr 2", "9" * 40, "run 007", "run-"]
    by_id = dict(zip(store(session, [{"name": name} for name in names]), names, strict=True))
    expected = ["9" * 40, "lr 0.05", "lr 0.1", "lr 0.25", "lr 2", "run 007", "run-", "run-2", "Run-10", "run-10 b"]
    assert [by_id[one] for one in ids(session, "name", size=3)] == expected


def _hours(session: Session, hours_of: dict[str, int]) -> None:
    for job, hours in hours_of.items():
        session.get_one(Job, job).gpu_seconds = 3600.0 * hours
    session.flush()


def _groups(session: Session, members: dict[str, list[str]]) -> None:
    for name, jobs in members.items():
        session.add(JobGroup(id=f"grp_{name}", owner_id="own_1", name=name, metric="objective/kl"))
        session.flush()
        session.add_all(
            JobGroupMember(job_id=job, group_id=f"grp_{name}", number=number, values={}, held=False)
            for number, job in enumerate(jobs, 1)
        )
    session.flush()


VALUES = st.fixed_dictionaries(
    {"name": st.sampled_from(["", "a", "A", "b2", "b10", "B02", "ä"]), "status": st.sampled_from(["queued", "paused"])},
    optional={
        "model": st.sampled_from(["a/b", "A/c"]),
        "fraction": st.sampled_from([0.0, 0.1 + 0.2, 1.0]),
        "stage": st.just("ppo"),
        "reward_line": st.floats(-1e300, 1e300).map(lambda mean: {"bits": 0, "buckets": [[0, mean, 1]]}),
        "summary": st.fixed_dictionaries(
            {}, optional={"kl": st.sampled_from([0.1, -1e-300]), "win_rate": st.just(0.5)}
        ),
        "started_at": st.integers(1, 3).map(lambda hours: NOON + timedelta(microseconds=hours)),
        "submitted_by": st.sampled_from(["a", "b"]),
    },
)


@limits(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_joined_pages_are_the_whole_list(session: Session, data: st.DataObject) -> None:
    rows = data.draw(st.lists(VALUES, max_size=12))
    stored = store(session, rows)
    for sort in get_args(JobSort):
        whole = ids(session, sort)
        assert sorted(whole) == sorted(stored), sort
        assert ids(session, sort, size=data.draw(st.integers(1, 4))) == whole, sort
    rewards = [session.get_one(Job, one).reward for one in ids(session, "-reward")]
    assert rewards == sorted(rewards, key=lambda one: (one is None, -(one or 0.0)))
    session.rollback()


def test_cursor_outside_the_filter_is_valid_and_unknown_is_not(session: Session) -> None:
    first, second, *_ = store(session, [{"name": "a", "status": "paused"}, {"name": "b"}])
    queued = JobFilter(statuses=[JobStatus.QUEUED])
    assert [job.id for job in list_jobs(session, "own_1", queued, first, 9, "name").items] == [second]
    with pytest.raises(InvalidRequest, match="no such item"):
        list_jobs(session, "own_1", JobFilter(), "job_other", 9, "name")


OLD_JOBS = """
    INSERT INTO owners (id, name) VALUES ('own_1', 'k');
    INSERT INTO jobs (id, owner_id, name, spec, status, status_reason, attempt, last_seq, stage, step, total_steps, plan,
                      seeds_done, summary, latest_metrics, reward_line)
        VALUES ('job_1', 'own_1', '', '{"seeds": 2}', 'queued', '', 0, 1, 'ppo', 50, 100,
                '[{"stage": "sft"}, {"stage": "ppo"}, {"stage": "evaluation"}]', 0, '{"kl": 3, "win_rate": 0.5}',
                '{"objective/kl": 4}', '{"bits": 0, "buckets": [[0, 1.5, 1], [1, 2.5, 1]]}'),
               ('job_2', 'own_1', '', '{"seeds": 4}', 'queued', '', 0, 1, 'sft', 0, 0, NULL, 3, NULL,
                '{"objective/kl": 4}', NULL),
               ('job_3', 'own_1', '', '{}', 'queued', '', 0, 1, NULL, NULL, NULL, NULL, 0, NULL, '{}', NULL);
    INSERT INTO job_events (job_id, seq, attempt, type, created_at, data)
        VALUES ('job_1', 1, 0, 'status_changed', now(), '{"actor": {"kind": "api_key", "name": "laptop"}}');
"""
NEW_COLUMNS = "SELECT submitted_by, fraction, reward, kl, win_rate FROM jobs ORDER BY id"


def test_migration_fills_the_columns_of_stored_jobs(postgres_url: str) -> None:
    with database_at(postgres_url, "6f1c2a84be03", "sorting") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(OLD_JOBS)
        command.upgrade(config, "8d27f4b1c6e9")
        with engine.begin() as connection:
            assert connection.execute(text(NEW_COLUMNS)).all() == [
                ("laptop", 0.25, 2.5, 3.0, 0.5),  # (1 + 6 / 2) of 8, and half of it for two seeds
                (None, 0.75, None, 4.0, None),
                (None, None, None, None, None),
            ]
        command.downgrade(config, "6f1c2a84be03")
