"""Findings: stored from a job's events, and listed over all jobs of an owner."""

from typing import Any

import pytest
from alembic import command
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.db import engine_for
from core.jobs.overview.findings import FindingFilter, health_of, list_findings
from core.jobs.overview.listing import JobFilter, list_jobs
from core.jobs.run.events import append_event, append_events
from core.models import Job, JobFinding
from core.models.findings import Severity
from core.models.jobs import JobStatus
from tests.core.factories import make_job, make_key, running
from tests.core.old_databases import database_at
from trainer.events import Event, Evidence, Health, Message

BEFORE = "6d1e0b7a94c2"


def fired(rule: str = "clipfrac_zero", step: int = 3, **values: Any) -> Health:
    evidence = [Evidence(metric="policy/clipfrac_avg", step=step, value=0.0)]
    event = {"action": "warn", "limit": 0.0, "cause": "Nothing is clipped.", "suggestion": "Raise it."} | values
    return Health(stage="ppo", step=step, rule=rule, evidence=evidence, **event)


@pytest.fixture
def job(session: Session) -> Job:
    made = make_job(session)
    running(session, made)
    return made


def report(session: Session, job: Job, *events: Event) -> list[JobFinding]:
    append_events(session, job.id, 1, events)
    session.commit()
    return listed(session, job)


def listed(session: Session, of: Job, limit: int = 100, after: str | None = None, **wanted: Any) -> list[JobFinding]:
    found, _ = list_findings(session, of.owner_id, FindingFilter(**wanted), after, limit, "desc")
    return list(found.items)


def test_a_rule_that_fires_again_stays_one_finding(session: Session, job: Job) -> None:
    first, again = fired(step=3, at=100.0), fired(step=9, at=200.0, cause="Still nothing.")
    (row,) = report(session, job, first, again)
    assert (row.rule, row.step, row.times, row.cause) == ("clipfrac_zero", 9, 2, "Still nothing.")
    assert (row.created_at.timestamp(), row.last_at.timestamp()) == (100, 200)
    assert row.data["evidence"] == [{"metric": "policy/clipfrac_avg", "step": 9, "value": 0.0}]


def test_a_step_repeated_after_a_resume_counts_once(session: Session, job: Job) -> None:
    report(session, job, fired(step=3), fired(step=9))
    (row,) = report(session, job, fired(step=3), fired(step=9), fired(step=12))
    assert (row.times, row.step) == (3, 12)


def test_each_seed_has_findings_of_its_own(session: Session) -> None:
    job = make_job(session, seed=5, seeds=2)
    running(session, job)
    rows = report(session, job, fired(seed=5), fired(seed=6), fired("truncation", seed=6))
    assert {(row.seed, row.rule) for row in rows} == {(5, "clipfrac_zero"), (6, "clipfrac_zero"), (6, "truncation")}


def test_the_severity_never_falls(session: Session, job: Job) -> None:
    (row,) = report(session, job, fired(action="roll_back"), fired(step=4))
    assert (row.severity, row.action, job.health) == ("error", "warn", "error")


def test_warnings_are_findings_and_other_messages_not(session: Session, job: Job) -> None:
    warning = Message(level="warning", text="Two rows are cut.")
    (row,) = report(session, job, Message(text="Hello."), warning, warning)
    assert (row.rule, row.severity, row.cause, row.times, row.step) == (None, "warning", "Two rows are cut.", 2, None)


def test_a_warning_of_the_platform_is_a_finding(session: Session, job: Job) -> None:
    append_event(session, job, Message(level="warning", text="A checkpoint is damaged."))
    assert [row.cause for row in listed(session, job)] == ["A checkpoint is damaged."]


def test_texts_that_cannot_be_stored_are_repaired(session: Session, job: Job) -> None:
    (rule, message) = report(session, job, Message(level="error", text="c\0d", at=1), fired(cause="a\0b", at=2))
    assert (rule.cause, message.cause) == ("a\N{REPLACEMENT CHARACTER}b", "c\N{REPLACEMENT CHARACTER}d")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["m", "stop", "warn"]),
        ({"severities": [Severity.ERROR]}, ["stop"]),
        ({"rules": ["clipfrac_zero"]}, ["warn"]),
        ({"rules": ["message", "not_finite"]}, ["m", "stop"]),
        ({"job": "job_other"}, []),
        ({"statuses": [JobStatus.RUNNING]}, ["m", "stop", "warn"]),
        ({"statuses": [JobStatus.SUCCEEDED]}, []),
        ({"archived": True}, []),
    ],
)
def test_findings_are_filtered_newest_first(
    session: Session, job: Job, wanted: dict[str, Any], expected: list[str]
) -> None:
    events = fired(at=1, cause="warn"), fired("not_finite", action="stop", at=2, cause="stop")
    report(session, job, *events, Message(level="warning", text="m", at=3))
    assert [row.cause for row in listed(session, job, **wanted)] == expected


def test_a_cursor_holds_when_a_rule_fires_again(session: Session, job: Job) -> None:
    rules = ("truncation", "kl_blow_up", "clipfrac_zero")
    report(session, job, *(fired(rule, at=number) for number, rule in enumerate(rules, 1)))
    (newest,) = listed(session, job, limit=1)
    report(session, job, fired("truncation", step=9, at=50))
    assert [row.rule for row in listed(session, job, after=newest.id)] == ["kl_blow_up", "truncation"]


def test_another_owner_sees_no_findings(session: Session, job: Job) -> None:
    report(session, job, fired())
    found, jobs = list_findings(session, make_key(session, "other").owner_id, FindingFilter(), None, 10, "desc")
    assert (list(found.items), jobs) == ([], {})


def test_the_gravest_finding_stands_for_a_job(session: Session, job: Job) -> None:
    stop = fired("not_finite", action="stop", at=2)
    report(session, job, fired("kl_blow_up", action="pause", at=3), stop, fired(at=4))
    health = health_of(session, [job.id])[job.id]
    assert (health.finding.rule, health.count) == ("not_finite", 3)


def test_jobs_are_filtered_and_sorted_by_health(session: Session, job: Job) -> None:
    report(session, job, fired())
    well, bad = make_job(session, job.owner_id, name="well"), make_job(session, job.owner_id, name="bad")
    append_event(session, bad, Message(level="error", text="It hurts."))
    session.commit()

    def ids(**wanted: Any) -> list[str]:
        return [one.id for one in list_jobs(session, job.owner_id, JobFilter(**wanted), None, 10, "-health").items]

    assert ids() == [bad.id, job.id, well.id]
    assert ids(health=["none", "error"]) == [bad.id, well.id]
    assert ids(health=["warning"]) == [job.id]


def test_findings_go_with_their_job(session: Session, job: Job) -> None:
    report(session, job, fired())
    session.delete(job)
    session.commit()
    assert session.scalars(select(JobFinding)).all() == []


STORED = """
    INSERT INTO owners (id, name) VALUES ('own_1', 'k');
    INSERT INTO jobs (id, owner_id, name, spec, status, status_reason, attempt, last_seq, seeds_done)
        VALUES ('job_1', 'own_1', 'j', '{}', 'queued', '', 1, 6, 0), ('job_2', 'own_1', 'k', '{}', 'queued', '', 1, 1, 0);
    INSERT INTO job_events (job_id, seq, attempt, type, created_at, seed, stage, step, data) VALUES
        ('job_1', 1, 1, 'health', '2026-01-01', NULL, 'ppo', 3,
         '{"rule": "truncation", "action": "stop", "cause": "a", "suggestion": "s", "evidence": []}'),
        ('job_1', 2, 1, 'health', '2026-01-02', NULL, 'ppo', 9,
         '{"rule": "truncation", "action": "warn", "cause": "b", "suggestion": "s", "evidence": [], "changes": []}'),
        ('job_1', 3, 2, 'health', '2026-01-03', NULL, 'ppo', 9,
         '{"rule": "truncation", "action": "warn", "cause": "c", "suggestion": "s", "evidence": [], "changes": []}'),
        ('job_1', 4, 2, 'message', '2026-01-04', NULL, NULL, NULL, '{"level": "warning", "text": "cut"}'),
        ('job_1', 5, 2, 'message', '2026-01-04', NULL, NULL, NULL, '{"level": "info", "text": "hello"}'),
        ('job_2', 1, 1, 'message', '2026-01-04', NULL, NULL, NULL, '{"level": "info", "text": "hello"}');
"""


def test_migration_finds_what_older_jobs_reported(postgres_url: str) -> None:
    with database_at(postgres_url, BEFORE, "findings") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(STORED)
        command.upgrade(config, "head")
        with Session(engine) as session:
            warning, rule = listed(session, session.get_one(Job, "job_1"))
            assert (rule.severity, rule.action, rule.step, rule.times, rule.cause) == ("error", "warn", 9, 2, "c")
            assert (warning.rule, warning.cause, warning.times, warning.severity) == (None, "cut", 1, "warning")
            assert [session.get_one(Job, one).health for one in ("job_1", "job_2")] == ["error", None]
            titles = session.scalars(text("SELECT data ->> 'title' FROM job_events WHERE type = 'health'")).all()
            assert titles == ["Responses cut off"] * 3
            # The keys are those under which the next events are stored.
            append_event(session, session.get_one(Job, "job_1"), Message(level="warning", text="cut"))
            append_event(session, session.get_one(Job, "job_1"), fired("truncation", step=12))
            assert [row.times for row in listed(session, session.get_one(Job, "job_1"))] == [2, 3]
