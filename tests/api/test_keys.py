from datetime import UTC, datetime, timedelta
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


def bearer(key: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {key['text']}"}


def rotated(client: TestClient, key_id: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/keys/{key_id}/rotate", json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_both_keys_of_a_rotation_are_valid_in_the_overlap(client: TestClient, session: Session) -> None:
    old = client.post("/v1/keys", json={"name": "script", "scopes": ["read", "submit"]}).json()
    new = rotated(client, old["id"], overlap_seconds=600)
    assert (new["name"], new["scopes"], new["expires_at"]) == ("script", ["read", "submit"], None)
    assert new["replaces"]["id"] == old["id"]
    end = datetime.fromisoformat(new["replaces"]["expires_at"]) - datetime.fromisoformat(new["created_at"])
    assert timedelta(seconds=599) < end < timedelta(seconds=660)
    assert [client.get("/v1/jobs", headers=bearer(key)).status_code for key in (old, new)] == [200, 200]
    session.get_one(ApiKey, old["id"]).expires_at = datetime.now(UTC) - timedelta(seconds=1)
    session.commit()
    assert "expired on" in problem(client.get("/v1/jobs", headers=bearer(old)), 401, "not_signed_in")["detail"]
    assert client.get("/v1/jobs", headers=bearer(new)).status_code == 200


def test_rotation_without_overlap_revokes_the_key_of_the_request(
    client: TestClient, anonymous: TestClient, owner: tuple[ApiKey, str]
) -> None:
    new = rotated(client, owner[0].id, overlap_seconds=0)
    assert new["replaces"]["revoked_at"] is not None
    assert client.get("/v1/jobs").status_code == 401
    assert anonymous.get("/v1/jobs", headers=bearer(new)).status_code == 200


def test_rotation_repeats_the_life_of_the_key(client: TestClient, session: Session) -> None:
    """Made for ten days, five days ago: the new key lives for ten days from now, and the old one for its five."""
    old = client.post("/v1/keys", json={"name": "ten days"}).json()
    row, now = session.get_one(ApiKey, old["id"]), datetime.now(UTC)
    row.created_at, row.expires_at = now - timedelta(days=5), now + timedelta(days=5)
    session.commit()
    new = rotated(client, old["id"], overlap_seconds=30 * 86_400)
    assert round((datetime.fromisoformat(new["expires_at"]) - now) / timedelta(days=1), 2) == 10
    assert datetime.fromisoformat(new["replaces"]["expires_at"]) == row.expires_at


def test_key_with_an_end_cannot_outlive_itself_by_rotation(client: TestClient, anonymous: TestClient) -> None:
    end = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    old = client.post("/v1/keys", json={"name": "guest", "expires_at": end}).json()
    later = {"expires_at": (datetime.now(UTC) + timedelta(days=9)).isoformat()}
    refused = anonymous.post(f"/v1/keys/{old['id']}/rotate", json=later, headers=bearer(old))
    assert "after the end of the key of this request" in problem(refused, 422, "invalid_request")["detail"]
    new = anonymous.post(f"/v1/keys/{old['id']}/rotate", json={}, headers=bearer(old)).json()
    assert new["expires_at"] == old["expires_at"]


def test_limited_key_cannot_rotate_a_stronger_one(
    client: TestClient, anonymous: TestClient, owner: tuple[ApiKey, str]
) -> None:
    limited = client.post("/v1/keys", json={"name": "limited", "scopes": ["manage"]}).json()
    stronger = anonymous.post(f"/v1/keys/{owner[0].id}/rotate", json={}, headers=bearer(limited))
    assert "not limited to scopes" in problem(stronger, 403, "not_allowed")["detail"]
    wider = client.post("/v1/keys", json={"name": "wider", "scopes": ["manage", "read"]}).json()
    refused = anonymous.post(f"/v1/keys/{wider['id']}/rotate", json={}, headers=bearer(limited))
    assert "has read" in problem(refused, 422, "invalid_request")["detail"]
    assert client.get("/v1/session").status_code == 200


def test_operators_key_is_rotated_by_an_operator_only(
    client: TestClient, session: Session, owner: tuple[ApiKey, str]
) -> None:
    plain = client.post("/v1/keys", json={"name": "plain"}).json()
    session.get_one(ApiKey, owner[0].id).operator = True
    session.commit()
    refused = client.post(f"/v1/keys/{owner[0].id}/rotate", json={}, headers=bearer(plain))
    problem(refused, 403, "not_operator")
    assert rotated(client, owner[0].id)["operator"] is True


@pytest.mark.parametrize("body", [{"overlap_seconds": -1}, {"overlap_seconds": 2_592_001}, {"overlap": 5}])
def test_rotation_out_of_bounds_is_refused(client: TestClient, owner: tuple[ApiKey, str], body: Any) -> None:
    problem(client.post(f"/v1/keys/{owner[0].id}/rotate", json=body), 422, "invalid_request")


def test_revoked_key_and_a_stranger_s_key_are_not_rotated(client: TestClient, session: Session) -> None:
    made = client.post("/v1/keys", json={"name": "gone"}).json()
    client.post(f"/v1/keys/{made['id']}/revoke")
    assert (
        "not valid any more"
        in problem(client.post(f"/v1/keys/{made['id']}/rotate", json={}), 404, "not_found")["detail"]
    )
    other, _ = keys.create_key(session, "other")
    session.commit()
    assert "There is no key" in problem(client.post(f"/v1/keys/{other.id}/rotate", json={}), 404, "not_found")["detail"]
    assert session.get_one(ApiKey, other.id).expires_at is None


def test_ended_key_takes_no_place(client: TestClient, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.access.keys.MOST_KEYS", 2)
    ended = client.post("/v1/keys", json={"name": "ended"}).json()
    problem(client.post("/v1/keys", json={"name": "third"}), 429, "quota_exceeded")
    session.get_one(ApiKey, ended["id"]).expires_at = datetime.now(UTC) - timedelta(seconds=1)
    session.commit()
    assert client.post("/v1/keys", json={"name": "third"}).status_code == 201
    assert [one["name"] for one in client.get("/v1/keys").json()["data"]] == ["third", "ended", "tester"]
