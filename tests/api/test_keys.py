from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.models import ApiKey, Dataset
from tests.api.problem_checks import problem


def test_created_key_sees_the_same_data(client: TestClient, anonymous: TestClient, dataset: Dataset) -> None:
    made = client.post("/v1/keys", json={"name": "laptop"})
    assert made.status_code == 201
    text = made.json()["text"]
    assert text.startswith(made.json()["prefix"].removesuffix("…"))
    seen = anonymous.get("/v1/datasets", headers={"Authorization": f"Bearer {text}"}).json()["data"]
    assert [one["id"] for one in seen] == [dataset.id]
    listed = client.get("/v1/keys").json()["data"]
    assert [(one["name"], one["current"], "text" in one) for one in listed] == [
        ("laptop", False, False),
        ("tester", True, False),
    ]


def test_revoked_key_is_refused_and_stays_listed(client: TestClient, anonymous: TestClient) -> None:
    made = client.post("/v1/keys", json={"name": "laptop"}).json()
    revoked = client.post(f"/v1/keys/{made['id']}/revoke").json()["revoked_at"]
    assert revoked is not None
    problem(anonymous.get("/v1/jobs", headers={"Authorization": f"Bearer {made['text']}"}), 401, "not_signed_in")
    assert client.post(f"/v1/keys/{made['id']}/revoke").json()["revoked_at"] == revoked


def test_key_cannot_revoke_itself(client: TestClient, owner: tuple[ApiKey, str]) -> None:
    problem(client.post(f"/v1/keys/{owner[0].id}/revoke"), 409, "key_in_use")
    assert client.get("/v1/session").status_code == 200


def test_keys_of_another_owner_are_not_found(client: TestClient, session: Session) -> None:
    other, _ = keys.create_key(session, "other")
    session.commit()
    problem(client.post(f"/v1/keys/{other.id}/revoke"), 404, "not_found")
    assert [one["name"] for one in client.get("/v1/keys").json()["data"]] == ["tester"]


def test_only_an_operator_creates_operators(client: TestClient, session: Session, owner: tuple[ApiKey, str]) -> None:
    assert client.post("/v1/keys", json={"name": "one"}).json()["operator"] is False
    session.get_one(ApiKey, owner[0].id).operator = True
    session.commit()
    assert client.post("/v1/keys", json={"name": "two"}).json()["operator"] is True
    assert client.get("/v1/session").json()["key"]["operator"] is True


@pytest.mark.parametrize("name", ["", "a\x00b", "n" * 101])
def test_key_name_out_of_bounds_is_refused(client: TestClient, name: str) -> None:
    problem(client.post("/v1/keys", json={"name": name}), 422, "invalid_request")


def test_number_of_keys_of_an_owner_is_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time. The list has the newest two of the revoked ones."""
    monkeypatch.setattr(keys, "MOST_KEYS", 2)
    for name in ("one", "two", "three"):
        made = client.post("/v1/keys", json={"name": name})
        found = problem(client.post("/v1/keys", json={"name": "more"}), 429, "quota_exceeded")
        assert (found["limit"], found["value"]) == (2, 2)
        assert client.post(f"/v1/keys/{made.json()['id']}/revoke").status_code == 200
    listed = client.get("/v1/keys").json()["data"]
    assert [one["name"] for one in listed] == ["three", "two", "tester"]


def created(client: TestClient, name: str, key: str | None = None) -> dict[str, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return client.post("/v1/keys", json={"name": name}, headers=headers).json()


def test_revoked_key_lists_the_valid_keys_it_made(client: TestClient, owner: tuple[ApiKey, str]) -> None:
    """tester made leaked, leaked made child and gone, child made grandchild; gone is revoked."""
    leaked = created(client, "leaked")
    child, gone = (created(client, name, leaked["text"]) for name in ("child", "gone"))
    created(client, "grandchild", child["text"])
    client.post(f"/v1/keys/{gone['id']}/revoke")
    revoked = client.post(f"/v1/keys/{leaked['id']}/revoke").json()
    assert [key["name"] for key in revoked["valid_keys_made"]] == ["child", "grandchild"]
    assert (leaked["made_by"], child["made_by"]) == (owner[0].id, leaked["id"])
    still = client.get("/v1/session", headers={"Authorization": f"Bearer {child['text']}"})
    assert still.status_code == 200


def test_key_is_revoked_with_all_that_it_made(client: TestClient) -> None:
    leaked = created(client, "leaked")
    child = created(client, "child", leaked["text"])
    grandchild = created(client, "grandchild", child["text"])
    revoked = client.post(f"/v1/keys/{leaked['id']}/revoke", params={"and_made": True}).json()
    assert revoked["valid_keys_made"] == []
    for key in (leaked, child, grandchild):
        answer = client.get("/v1/session", headers={"Authorization": f"Bearer {key['text']}"})
        problem(answer, 401, "not_signed_in")


def test_key_cannot_revoke_its_maker_with_itself(client: TestClient, owner: tuple[ApiKey, str]) -> None:
    child = created(client, "child")
    by_child = {"Authorization": f"Bearer {child['text']}"}
    revoke = f"/v1/keys/{owner[0].id}/revoke"
    problem(client.post(revoke, params={"and_made": True}, headers=by_child), 409, "key_in_use")
    assert client.get("/v1/session").status_code == 200
    assert client.post(revoke, headers=by_child).status_code == 200
