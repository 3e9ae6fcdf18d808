"""Findings over HTTP, and the health of a job in the list."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.models import ApiKey, Job
from core.models.jobs import JobStatus
from tests.api.problem_checks import problem
from tests.core.factories import make_job, running
from trainer.events import Evidence, Health, Message, SuggestedChange
from trainer.spec.health_titles import RULE_TITLES

FIRED = Health(
    stage="ppo",
    step=30,
    rule="clipfrac_zero",
    action="pause",
    limit=0.0,
    cause="Nothing is clipped.",
    evidence=[Evidence(metric="policy/clipfrac_avg", step=30, value=0.0)],
    suggestion="Raise it.",
    changes=[SuggestedChange(field="ppo.learning_rate", value=2e-5, factor=2)],
    at=200.0,
)


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    """A running job with a rule that fired and a warning."""
    made = make_job(session, owner[0].owner_id, name="first run")
    running(session, made)
    append_events(session, made.id, 1, [Message(level="warning", text="Two rows are cut.", at=100.0), FIRED])
    session.commit()
    return made


def findings(client: TestClient, **query: Any) -> list[dict[str, Any]]:
    found = client.get("/v1/findings", params=query)
    assert found.status_code == 200, found.text
    data: list[dict[str, Any]] = found.json()["data"]
    return data


def test_a_finding_names_its_job_and_its_rule_in_words(client: TestClient, job: Job) -> None:
    rule, _ = findings(client)
    assert rule | {"id": "", "created_at": "", "last_at": ""} == {
        "object": "health.finding",
        "id": "",
        "job_id": job.id,
        "job_name": "first run",
        "job_status": "running",
        "severity": "error",
        "title": "No clipping",
        "rule": "clipfrac_zero",
        "action": "pause",
        "seed": None,
        "stage": "ppo",
        "step": 30,
        "times": 1,
        "cause": "Nothing is clipped.",
        "suggestion": "Raise it.",
        "evidence": [{"metric": "policy/clipfrac_avg", "step": 30, "value": 0.0}],
        "changes": [{"field": "ppo.learning_rate", "value": 2e-5, "factor": 2.0}],
        "created_at": "",
        "last_at": "",
    }


def test_a_warning_of_the_run_is_a_finding_without_a_rule(client: TestClient, job: Job) -> None:
    (warning,) = findings(client, rule="message")
    assert (warning["title"], warning["rule"], warning["cause"]) == ("Warning of the run", None, "Two rows are cut.")


def test_findings_have_pages(client: TestClient, job: Job) -> None:
    first = client.get("/v1/findings?limit=1").json()
    rest = client.get(f"/v1/findings?limit=1&after={first['last_id']}").json()
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert [one["data"][0]["rule"] for one in (first, rest)] == ["clipfrac_zero", None]


@pytest.mark.parametrize(
    "query", ["rule=clipfrac_none", "severity=grave", "status=done", "job=%00", "after=find_x", "limit=0", "rules=x"]
)
def test_unknown_filters_are_refused(client: TestClient, job: Job, query: str) -> None:
    refused = problem(client.get(f"/v1/findings?{query}"), 422, "invalid_request")
    assert refused["errors"][0]["pointer"].startswith(f"?{query.partition('=')[0]}")


def test_archived_jobs_have_their_findings_apart(client: TestClient, session: Session, job: Job) -> None:
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    session.commit()
    assert [one["job_status"] for one in findings(client, status="succeeded")] == ["succeeded"] * 2
    assert client.post(f"/v1/jobs/{job.id}/archive").status_code == 200
    assert (findings(client), len(findings(client, archived=True))) == ([], 2)


def test_a_job_has_its_gravest_finding(client: TestClient, job: Job) -> None:
    health = {"severity": "error", "title": "No clipping", "rule": "clipfrac_zero", "seed": None, "step": 30}
    assert client.get(f"/v1/jobs/{job.id}").json()["health"] == health | {"findings": 2}
    assert [one["id"] for one in client.get("/v1/jobs?health=error").json()["data"]] == [job.id]
    assert client.get("/v1/jobs?health=none&health=warning").json()["data"] == []


def test_a_job_without_findings_has_no_health(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    job = make_job(session, owner[0].owner_id)
    assert client.get(f"/v1/jobs/{job.id}").json()["health"] is None


def test_the_reference_has_every_rule_with_its_defaults(client: TestClient) -> None:
    found = {rule["rule"]: rule for rule in client.get("/v1/reference/health-rules").json()["data"]}
    assert found.keys() == RULE_TITLES.keys()
    rule = found["clipfrac_high"]
    assert (rule["title"], rule["action"], rule["limit"], rule["patience"]) == ("Too much clipping", "warn", 0.3, 3)
    assert "`policy/clipfrac_avg`" in rule["meaning"]
