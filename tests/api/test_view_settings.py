"""Settings that the dashboard keeps for an owner."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert
from sqlalchemy.orm import Session

from api.view_settings import MOST_BYTES, MOST_SETTINGS
from core.access import keys
from core.models import ApiKey, ViewSetting
from tests.api.problem_checks import problem

CHARTS = "/v1/view-settings/charts.ppo"


def test_setting_is_stored_replaced_listed_and_deleted(client: TestClient) -> None:
    first = client.put(CHARTS, json={"value": {"pinned": ["KL"]}}).json()
    assert (first["name"], first["value"]) == ("charts.ppo", {"pinned": ["KL"]})
    client.put("/v1/view-settings/jobs.columns", json={"value": ["kl", None, 1.5]})
    second = client.put(CHARTS, json={"value": None}).json()
    assert second["value"] is None and second["updated_at"] > first["updated_at"]
    listed = client.get("/v1/view-settings").json()["data"]
    assert [(one["name"], one["value"]) for one in listed] == [
        ("charts.ppo", None),
        ("jobs.columns", ["kl", None, 1.5]),
    ]
    assert client.delete(CHARTS).status_code == 204
    problem(client.delete(CHARTS), 404, "not_found")


def test_settings_of_another_owner_are_apart(client: TestClient, session: Session) -> None:
    _, text = keys.create_key(session, "other")
    session.commit()
    others = {"Authorization": f"Bearer {text}"}
    client.put(CHARTS, json={"value": 1})
    assert client.put(CHARTS, json={"value": 2}, headers=others).json()["value"] == 2
    assert [one["value"] for one in client.get("/v1/view-settings").json()["data"]] == [1]
    assert client.delete(CHARTS, headers=others).status_code == 204
    assert len(client.get("/v1/view-settings").json()["data"]) == 1


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        ("Charts", {"value": 1}, 422, "invalid_request"),
        ("charts", {"value": 1, "also": 2}, 422, "invalid_request"),
        ("charts", {}, 422, "invalid_request"),
        ("charts", {"value": "a\x00b"}, 422, "invalid_request"),
        ("charts", {"value": "a" * (MOST_BYTES - 1)}, 413, "too_large"),
    ],
)
def test_setting_out_of_bounds_is_refused(
    client: TestClient, name: str, body: dict[str, object], status: int, code: str
) -> None:
    problem(client.put(f"/v1/view-settings/{name}", json=body), status, code)


def test_largest_setting_is_stored(client: TestClient) -> None:
    assert client.put(CHARTS, json={"value": "a" * (MOST_BYTES - 2)}).status_code == 200


def test_number_of_settings_is_limited(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    rows = [{"owner_id": owner[0].owner_id, "name": f"x{number}", "value": 0} for number in range(MOST_SETTINGS)]
    session.execute(insert(ViewSetting), rows)
    session.commit()
    problem(client.put(CHARTS, json={"value": 1}), 429, "quota_exceeded")
    assert client.put("/v1/view-settings/x7", json={"value": 1}).status_code == 200
