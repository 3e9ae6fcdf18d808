"""Validations over REST. The data worker's part is in tests/worker/tasks/test_validation.py."""

from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core import tasks
from core.access import keys
from core.jobs.validation_result import ValidationResult
from core.models import DataTask, Validation
from core.models.tasks import TaskStatus
from tests.api.problem_checks import problem
from trainer.preflight.report import Finding, Report, StageEstimate

ERROR = Finding(level="error", area="data", code="nothing_left", where="#/data/preferences", detail="No pair is left.")
STAGES = [StageEstimate(stage="ppo", steps=5, optimizer_steps=5, tokens=100)]


def finish(session: Session, validation_id: str, *findings: Finding) -> None:
    validation = session.get_one(Validation, validation_id)
    report = Report(findings=list(findings), stages=STAGES)
    validation.result = ValidationResult.of_report(report, {}).model_dump(mode="json")
    tasks.end(session, session.get_one(DataTask, validation.task_id), TaskStatus.DONE)
    session.commit()


def test_validation_is_requested_then_returned(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    asked = client.post("/v1/jobs/validate", json=body)
    made = asked.json()
    assert (asked.status_code, made["object"], made["status"]) == (202, "job.validation", "queued")
    assert (made["blocked"], made["result"], made["time"], made["error"]) == (None, None, None, None)
    assert made["spec"]["ppo"]["policy_loss"]["clip_range"] == 0.2 and made["progress"] == {"fraction": 0.0, "note": ""}
    finish(session, made["id"])
    found = client.get(asked.headers["Location"]).json()
    assert (found["status"], found["blocked"], found["progress"]) == ("done", False, None)
    assert found["result"]["findings"] == [] and found["result"]["stages"][0]["steps"] == 5
    assert found["time"]["seconds"] is None and "ran ppo" in found["time"]["reason"]
    again = client.post("/v1/jobs/validate", json=body)
    assert (again.status_code, again.json()) == (200, found)
    assert client.post("/v1/jobs/validate?refresh=true", json=body).status_code == 202


def test_submission_of_blocked_spec_needs_force(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    made = client.post("/v1/jobs/validate", json=body).json()
    finish(session, made["id"], ERROR)
    assert client.get(f"/v1/jobs/validations/{made['id']}").json()["blocked"] is True
    refused = problem(client.post("/v1/jobs", json=body), 422, "blocked_by_validation")
    assert refused["errors"][0]["pointer"] == "#/data/preferences" and refused["validation"] == made["id"]
    assert client.get("/v1/jobs").json()["data"] == []
    job = client.post("/v1/jobs?force=true", json=body)
    assert job.status_code == 201
    problem(client.post(f"/v1/jobs/{job.json()['id']}/clone"), 422, "blocked_by_validation")
    assert client.post(f"/v1/jobs/{job.json()['id']}/clone?force=true").status_code == 201


def test_validation_refuses_what_a_submission_refuses(client: TestClient, body: dict[str, Any]) -> None:
    problem(client.post("/v1/jobs/validate", json=body | {"ppo": {"step": 1}}), 422, "invalid_spec")
    problem(client.post("/v1/jobs/validate", json=body | {"ppo": {"steps": 10**8}}), 422, "limit_exceeded")
    problem(client.post("/v1/jobs/validate", json=body | {"data": {"preferences": "ds_none"}}), 404, "not_found")
    problem(client.get("/v1/jobs/validations/validation_none"), 404, "not_found")


def test_validation_of_another_owner_is_not_found(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    made = client.post("/v1/jobs/validate", json=body).json()
    _, other = keys.create_key(session, "other")
    session.commit()
    headers = {"Authorization": f"Bearer {other}"}
    problem(client.get(f"/v1/jobs/validations/{made['id']}", headers=headers), 404, "not_found")


def test_validation_that_failed_says_why(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    made = client.post("/v1/jobs/validate", json=body).json()
    task = session.get_one(DataTask, session.get_one(Validation, made["id"]).task_id)
    tasks.end(session, task, TaskStatus.FAILED, {"code": "timed_out", "message": "It took too long."})
    session.commit()
    found = client.get(f"/v1/jobs/validations/{made['id']}").json()
    assert (found["status"], found["blocked"]) == ("failed", None)
    assert found["error"] == {"code": "timed_out", "message": "It took too long."}
