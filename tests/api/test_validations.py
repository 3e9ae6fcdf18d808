"""Validations over REST. The data worker's part is in tests/worker/tasks/test_validation.py."""

from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core import tasks
from core.access import keys
from core.jobs.checkpoints.checkpoints import CheckpointFile, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.submission.validation_result import ValidationResult
from core.models import ApiKey, DataTask, Validation
from core.models.jobs import JobStatus
from core.models.tasks import TaskStatus
from tests.api.problem_checks import problem
from tests.core.annotation.tools import make_round
from tests.core.factories import make_job, make_version, running
from trainer.events import CheckpointSaved
from trainer.preflight.report import Finding, Report, StageEstimate

ERROR = Finding(level="error", area="data", code="nothing_left", where="#/data/preferences", detail="No pair is left.")
STAGES = [StageEstimate(stage="ppo", steps=5, optimizer_steps=5, tokens=100)]


def finish(session: Session, validation_id: str, *findings: Finding) -> None:
    validation = session.get_one(Validation, validation_id)
    report = Report(findings=list(findings), stages=STAGES)
    validation.result = ValidationResult.of_report(report, {}).model_dump(mode="json")
    tasks.end(session, session.get_one(DataTask, validation.task_id), TaskStatus.SUCCEEDED)
    session.commit()


def test_validation_is_requested_then_returned(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    asked = client.post("/v1/jobs/validate", json=body)
    made = asked.json()
    assert (asked.status_code, made["object"], made["status"]) == (202, "job.validation", "queued")
    assert (made["blocked"], made["result"], made["time"], made["error"]) == (None, None, None, None)
    assert made["spec"]["ppo"]["policy_loss"]["clip_range"] == 0.2 and made["progress"] == {
        "fraction": 0.0,
        "note": "Waits for a data worker.",
        "place": 0,
    }
    finish(session, made["id"])
    found = client.get(asked.headers["Location"]).json()
    assert (found["status"], found["blocked"], found["progress"]) == ("succeeded", False, None)
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


def test_blocked_branch_extension_and_sweep_need_force(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    source = make_job(session, owner[0].owner_id, ppo={"steps": 4, "lr_schedule": "constant", "warmup_ratio": 0.0})
    running(session, source)
    state: list[CheckpointFile] = [{"path": "trainer_state/state.json", "bytes": 1, "sha256": "-"}]
    for stage, step, final in (("sft", 1, True), ("reward_model", 1, True), ("ppo", 2, False), ("ppo", 4, True)):
        path = f"checkpoints/{stage}" + ("" if final else f"-{step:06d}")
        saved = CheckpointSaved.model_validate({"stage": stage, "step": step, "path": path, "final": final})
        record_checkpoint(session, source.id, 1, saved, [] if final else state, path)
    attempts.finish(session, source.id, 1, JobStatus.SUCCEEDED, "")
    session.commit()
    longer = source.spec | {"ppo": source.spec["ppo"] | {"steps": 5}, "name": "Another name"}
    finish(session, client.post("/v1/jobs/validate", json=longer).json()["id"], ERROR)
    address = f"/v1/jobs/{source.id}"
    patch = {"ppo": {"steps": 5}}
    asked: list[tuple[str, dict[str, Any]]] = [
        (f"{address}/branch", {"stage": "ppo", "step": 2, "patch": patch}),
        (f"{address}/extend", {"steps": 5}),
        ("/v1/sweeps", {"spec": source.spec, "parameters": {"ppo.steps": [4, 5]}}),
    ]
    for path, request in asked:
        refused = problem(client.post(path, json=request), 422, "blocked_by_validation")
        assert ("Job 2 (ppo.steps=5)" in refused["detail"]) == (path == "/v1/sweeps")
    assert len(client.get("/v1/jobs").json()["data"]) == 1
    for path, request in asked:
        assert client.post(f"{path}?force=true", json=request).status_code == 201


def test_blocked_continuation_of_a_round_needs_force(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    job = make_job(session, owner[0].owner_id)
    running(session, job)
    for stage in ("sft", "reward_model", "ppo"):
        event = {"stage": stage, "step": 1, "path": f"checkpoints/{stage}", "final": True}
        record_checkpoint(session, job.id, 1, CheckpointSaved.model_validate(event), [], stage)
    version = make_version(session, owner[0].owner_id)
    closed = make_round(session, owner[0].owner_id)
    closed.status, closed.closed_at = "closed", version.ready_at
    closed.dataset_id, closed.version = version.dataset_id, version.number
    session.commit()
    address = f"/v1/annotation/rounds/{closed.id}"
    planned = client.get(f"{address}/continuation", params={"job": job.id}).json()["spec"]
    finish(session, client.post("/v1/jobs/validate", json=planned).json()["id"], ERROR)
    problem(client.post(f"{address}/continue", json={"job": job.id}), 422, "blocked_by_validation")
    assert client.get(address).json()["jobs"] == []
    assert client.post(f"{address}/continue?force=true", json={"job": job.id}).status_code == 201


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


def test_queued_validation_is_cancelled_and_never_starts(
    client: TestClient, session: Session, body: dict[str, Any]
) -> None:
    """Twice is the same as once. The spec can be checked again."""
    made = client.post("/v1/jobs/validate", json=body).json()
    address = f"/v1/jobs/validations/{made['id']}"
    cancelled = client.post(f"{address}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert (cancelled.json()["findings"], cancelled.json()["error"]) == (None, None)
    assert client.post(f"{address}/cancel").json() == cancelled.json() == client.get(address).json()
    while claim := tasks.claim(session, "dwk_1"):
        assert claim.kind != "validate"
    again = client.post("/v1/jobs/validate", json=body)
    assert (again.status_code, again.json()["status"]) == (202, "queued")


def test_ended_or_foreign_validation_cannot_be_cancelled(
    client: TestClient, session: Session, body: dict[str, Any]
) -> None:
    made = client.post("/v1/jobs/validate", json=body).json()
    address = f"/v1/jobs/validations/{made['id']}/cancel"
    _, other = keys.create_key(session, "other")
    session.commit()
    problem(client.post(address, headers={"Authorization": f"Bearer {other}"}), 404, "not_found")
    problem(client.post("/v1/jobs/validations/validation_none/cancel"), 404, "not_found")
    assert client.get(f"/v1/jobs/validations/{made['id']}").json()["status"] == "queued"
    finish(session, made["id"], ERROR)
    problem(client.post(address), 409, "task_ended")
    found = client.get(f"/v1/jobs/validations/{made['id']}").json()
    assert (found["status"], found["findings"]) == ("succeeded", found["result"]["findings"])
    assert [one["code"] for one in found["findings"]] == ["nothing_left"]


def test_validation_that_failed_says_why(client: TestClient, session: Session, body: dict[str, Any]) -> None:
    made = client.post("/v1/jobs/validate", json=body).json()
    task = session.get_one(DataTask, session.get_one(Validation, made["id"]).task_id)
    tasks.end(session, task, TaskStatus.FAILED, {"code": "timed_out", "message": "It took too long."})
    session.commit()
    found = client.get(f"/v1/jobs/validations/{made['id']}").json()
    assert (found["status"], found["blocked"]) == ("failed", None)
    assert found["error"] == {"code": "timed_out", "message": "It took too long."}
