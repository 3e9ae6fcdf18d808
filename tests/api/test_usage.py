from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.models import ApiKey, Project
from tests.api.problem_checks import problem


def test_usage_of_the_caller_has_limits_and_use(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], body: dict[str, Any]
) -> None:
    session.get_one(Project, owner[0].owner_id).quotas = {"gpus": 4}
    session.commit()
    client.post("/v1/jobs", json=body)
    found = client.get("/v1/usage").json()
    assert found["limits"]["gpus"] == 4 and found["limits"]["running_jobs"] is None
    assert found["used"] | {"stored_bytes": 0} == {
        "open_jobs": 1,
        "running_jobs": 0,
        "gpus": 0,
        "gpu_hours": 0.0,
        "stored_bytes": 0,
        "recent_gpu_hours": 0.0,
    }
    assert found["period"]["start"] <= found["at"] < found["period"]["end"]


def test_usage_needs_a_key(anonymous: TestClient) -> None:
    problem(anonymous.get("/v1/usage"), 401, "not_signed_in")


def test_submission_beyond_a_refusing_quota_is_429(
    client: TestClient, session: Session, owner: tuple[ApiKey, str], body: dict[str, Any]
) -> None:
    session.get_one(Project, owner[0].owner_id).quotas = {"running_jobs": 1, "when_exceeded": "refuse"}
    session.commit()
    assert client.post("/v1/jobs", json=body).status_code == 201
    refused = problem(client.post("/v1/jobs", json=body), 429, "quota_exceeded")
    assert (refused["quota"], refused["limit"], refused["value"]) == ("running_jobs", 1, 1)


def test_priority_of_a_submission_is_a_parameter(client: TestClient, body: dict[str, Any]) -> None:
    assert client.post("/v1/jobs", json=body).json()["priority"] == "normal"
    high = client.post("/v1/jobs", params={"priority": "high"}, json=body).json()
    assert client.get(f"/v1/jobs/{high['id']}").json()["priority"] == "high"
    problem(client.post("/v1/jobs", params={"priority": "urgent"}, json=body), 422, "invalid_request")
