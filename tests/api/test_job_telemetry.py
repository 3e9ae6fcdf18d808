"""Telemetry of a job over HTTP."""

from datetime import UTC, datetime, timedelta

from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.lifecycle import attempts
from core.jobs.run.telemetry import Sample, append_samples
from core.models import ApiKey
from tests.api.problem_checks import problem
from tests.core.factories import make_job, make_key, running

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_telemetry_is_series_over_one_time_axis(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    later = Sample(AT + timedelta(seconds=10), {"cpu/percent": 50.0, "memory/rss": 7.0})
    append_samples(session, job.id, 1, [Sample(AT, {"memory/rss": 5.0}), later])
    session.commit()
    found = client.get(f"/v1/jobs/{job.id}/telemetry").json()
    assert (found["attempt"], found["at"]) == (1, ["2026-01-02T03:04:05Z", "2026-01-02T03:04:15Z"])
    assert found["series"] == [
        {"name": "cpu/percent", "values": [None, 50.0]},
        {"name": "memory/rss", "values": [5.0, 7.0]},
    ]
    assert {one["name"]: one["unit"] for one in found["measurements"]}["gpu/<n>/power"] == "watts"
    assert client.get(f"/v1/jobs/{job.id}/telemetry?attempt=2").json()["series"] == []


def test_telemetry_of_every_attempt_is_one_series(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    for attempt in (1, 2):
        assert running(session, job) == attempt
        at = AT + timedelta(minutes=attempt)
        append_samples(session, job.id, attempt, [Sample(at, {"memory/rss": float(attempt)})])
        attempts.release(session, job.id, attempt, "Restart.")
        session.commit()
    found = client.get(f"/v1/jobs/{job.id}/telemetry?every_attempt=true").json()
    assert (found["attempts"], found["series"]) == ([1, 2], [{"name": "memory/rss", "values": [1.0, 2.0]}])
    assert client.get(f"/v1/jobs/{job.id}/telemetry").json()["attempts"] == [2]
    both = problem(client.get(f"/v1/jobs/{job.id}/telemetry?every_attempt=true&attempt=1"), 422, "invalid_request")
    assert both["param"] == "every_attempt"


def test_telemetry_of_another_owner_is_not_found(client: TestClient, session: Session) -> None:
    theirs = make_job(session, make_key(session, "other").owner_id)
    problem(client.get(f"/v1/jobs/{theirs.id}/telemetry"), 404, "not_found")
