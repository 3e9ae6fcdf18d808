"""Members of a project, their roles, and keys with scopes and an end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlalchemy.orm import Session

from core.access import keys
from core.models import ApiKey, Membership, User
from tests.api.problem_checks import problem
from tests.core.annotation.tools import make_round
from tests.core.factories import make_dataset, make_job

Key = tuple[ApiKey, str]


def join(client: TestClient, role: str, **more: str) -> dict[str, Any]:
    response = client.post("/v1/members", json={"name": "Ada", "role": role} | more)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def signed_in(client: TestClient, text: str) -> TestClient:
    return TestClient(client.app, headers={"Authorization": f"Bearer {text}"})


def test_new_member_sees_the_project_as_its_role_allows(client: TestClient, session: Session, owner: Key) -> None:
    job = make_job(session, owner[0].owner_id)
    session.commit()
    viewer = signed_in(client, join(client, "viewer")["key"]["text"])
    assert viewer.get("/v1/session").json()["role"] == "viewer"
    assert viewer.get(f"/v1/jobs/{job.id}").json()["id"] == job.id
    document = problem(viewer.post(f"/v1/jobs/{job.id}/cancel"), 403, "not_allowed")
    assert document["detail"].startswith(
        "Your role in this project is `viewer`. This request needs `member` or `admin`."
    )


def test_members_change_what_they_made(client: TestClient, session: Session, owner: Key) -> None:
    ada = join(client, "member")
    mine, hers = make_job(session, owner[0].owner_id), make_job(session, owner[0].owner_id)
    hers.created_by = ada["id"]
    session.commit()
    member = signed_in(client, ada["key"]["text"])
    assert member.post(f"/v1/jobs/{hers.id}/cancel").json()["status"] == "cancelled"
    document = problem(member.post(f"/v1/jobs/{mine.id}/cancel"), 403, "not_allowed")
    assert "to what another member made needs `admin`" in document["detail"]


def test_objects_belong_to_the_user_whose_request_made_them(client: TestClient, session: Session, owner: Key) -> None:
    ada = join(client, "member")
    made = signed_in(client, ada["key"]["text"]).post("/v1/groups", json={"name": "hers"}).json()
    member = signed_in(client, ada["key"]["text"])
    assert member.post(f"/v1/groups/{made['id']}/cancel").is_success
    theirs = client.post("/v1/groups", json={"name": "the admin's"}).json()
    problem(member.post(f"/v1/groups/{theirs['id']}/cancel"), 403, "not_allowed")


def test_changed_role_holds_for_the_next_request(client: TestClient) -> None:
    ada = join(client, "viewer")
    member = signed_in(client, ada["key"]["text"])
    problem(member.post("/v1/groups", json={"name": "g"}), 403, "not_allowed")
    assert client.put(f"/v1/members/{ada['id']}/role", json={"role": "member"}).json()["role"] == "member"
    assert member.post("/v1/groups", json={"name": "g"}).status_code == 201


def test_removed_member_s_keys_end(client: TestClient) -> None:
    ada = join(client, "member")
    assert client.delete(f"/v1/members/{ada['id']}").status_code == 204
    problem(signed_in(client, ada["key"]["text"]).get("/v1/jobs"), 401, "not_signed_in")
    assert [one["name"] for one in client.get("/v1/members").json()["data"]] == ["tester"]
    problem(client.delete(f"/v1/members/{ada['id']}"), 404, "not_found")


def test_last_admin_stays(client: TestClient) -> None:
    me = client.get("/v1/session").json()["user"]["id"]
    problem(client.delete(f"/v1/members/{me}"), 409, "last_admin")
    problem(client.put(f"/v1/members/{me}/role", json={"role": "viewer"}), 409, "last_admin")
    join(client, "admin")
    assert client.put(f"/v1/members/{me}/role", json={"role": "viewer"}).json()["role"] == "viewer"


def test_role_without_reading_ends_the_credential(client: TestClient, session: Session) -> None:
    ada = join(client, "viewer")
    assert keys.valid_credentials(session, [ada["key"]["id"]]) == {ada["key"]["id"]}
    client.put(f"/v1/members/{ada['id']}/role", json={"role": "annotator"})
    session.rollback()
    assert keys.valid_credentials(session, [ada["key"]["id"]]) == set()


def test_key_is_limited_to_its_scopes(client: TestClient) -> None:
    made = client.post("/v1/keys", json={"name": "reader", "scopes": ["read"]}).json()
    reader = signed_in(client, made["text"])
    assert reader.get("/v1/jobs").is_success
    document = problem(reader.post("/v1/groups", json={"name": "g"}), 403, "not_allowed")
    assert (
        document["detail"] == "This key is limited to the scopes `read`. This request needs `submit`. Use another key."
    )


def test_key_makes_no_stronger_key(client: TestClient) -> None:
    made = client.post("/v1/keys", json={"name": "a", "scopes": ["manage", "read"]}).json()
    limited = signed_in(client, made["text"])
    document = problem(limited.post("/v1/keys", json={"name": "b", "scopes": ["submit"]}), 422, "invalid_request")
    assert document["param"] == "scopes"
    assert limited.post("/v1/keys", json={"name": "b"}).json()["scopes"] == ["manage", "read"]


def test_expired_key_says_that_it_expired(client: TestClient, session: Session) -> None:
    end = datetime(2099, 1, 1, tzinfo=UTC)
    made = client.post("/v1/keys", json={"name": "nightly", "expires_at": end.isoformat()}).json()
    assert made["expires_at"] == "2099-01-01T00:00:00Z"
    session.execute(
        update(ApiKey).where(ApiKey.id == made["id"]).values(expires_at=datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    )
    session.commit()
    document = problem(signed_in(client, made["text"]).get("/v1/jobs"), 401, "not_signed_in")
    assert document["detail"] == (
        "The API key 'nightly' expired on 2026-03-01 12:30 UTC. Use another key, or make a new one."
    )


def test_key_made_by_an_expiring_key_ends_with_it(client: TestClient) -> None:
    end = datetime.now(UTC) + timedelta(days=1)
    made = client.post("/v1/keys", json={"name": "a", "expires_at": end.isoformat()}).json()
    child = signed_in(client, made["text"])
    assert child.post("/v1/keys", json={"name": "b"}).json()["expires_at"] == made["expires_at"]
    later = (end + timedelta(days=1)).isoformat()
    problem(child.post("/v1/keys", json={"name": "c", "expires_at": later}), 422, "invalid_request")
    past = {"name": "d", "expires_at": "2020-01-01T00:00:00Z"}
    problem(client.post("/v1/keys", json=past), 422, "invalid_request")


def test_member_sees_and_revokes_its_own_keys_only(client: TestClient, owner: Key) -> None:
    ada = join(client, "member")
    member = signed_in(client, ada["key"]["text"])
    assert [one["id"] for one in member.get("/v1/keys").json()["data"]] == [ada["key"]["id"]]
    problem(member.post(f"/v1/keys/{owner[0].id}/revoke"), 403, "not_allowed")
    second = member.post("/v1/keys", json={"name": "second"}).json()
    assert member.post(f"/v1/keys/{second['id']}/revoke").is_success
    assert {one["user_id"] for one in client.get("/v1/keys").json()["data"]} == {ada["id"], owner[0].user_id}


def test_service_account_gets_keys_from_an_admin(client: TestClient) -> None:
    robot = join(client, "member", kind="service")
    assert robot["kind"] == "service"
    made = client.post(f"/v1/members/{robot['id']}/keys", json={"name": "nightly", "scopes": ["read"]}).json()
    assert signed_in(client, made["text"]).get("/v1/session").json()["user"] == {"id": robot["id"], "name": "Ada"}


def test_keys_of_a_release_without_users_share_an_admin(client: TestClient, session: Session, owner: Key) -> None:
    _, second = keys.add_key(session, owner[0].owner_id, "second", user_id=str(owner[0].user_id))
    session.query(Membership).delete()
    session.query(User).delete()
    session.execute(update(ApiKey).values(user_id=None))
    session.commit()
    found = [one.get("/v1/session").json() for one in (client, signed_in(client, second))]
    assert {one["role"] for one in found} == {"admin"} and len({one["user"]["id"] for one in found}) == 1


@pytest.mark.parametrize("body", [{"role": "owner"}, {"name": " "}, {"kind": "robot"}, {"colour": "red"}])
def test_invalid_member_is_refused(client: TestClient, body: dict[str, str]) -> None:
    problem(client.post("/v1/members", json={"name": "Ada", "role": "member"} | body), 422, "invalid_request")


def test_project_is_renamed_under_its_etag(client: TestClient) -> None:
    etag = client.get("/v1/project").json()["etag"]
    changed = client.patch("/v1/project", json={"name": "Assistants"}, headers={"If-Match": f'"{etag}"'})
    assert changed.json()["name"] == "Assistants"
    again = client.patch("/v1/project", json={"name": "Others"}, headers={"If-Match": f'"{etag}"'})
    problem(again, 412, "precondition_failed")


def test_viewer_does_not_rearrange_the_shared_dashboard(client: TestClient) -> None:
    viewer = signed_in(client, join(client, "viewer")["key"]["text"])
    client.put("/v1/view-settings/charts.ppo", json={"value": "ours"}).raise_for_status()
    problem(viewer.put("/v1/view-settings/charts.ppo", json={"value": "mine"}), 403, "not_allowed")
    assert viewer.get("/v1/view-settings").json()["data"][0]["value"] == "ours"


def test_former_admin_revokes_no_key_of_another_member(client: TestClient) -> None:
    ada = join(client, "admin")
    admin = signed_in(client, ada["key"]["text"])
    spare = admin.post("/v1/keys", json={"name": "spare"}).json()
    theirs = signed_in(client, spare["text"]).post("/v1/members", json={"name": "Bo", "role": "member"}).json()["key"]
    client.put(f"/v1/members/{ada['id']}/role", json={"role": "member"}).raise_for_status()
    revoked = admin.post(f"/v1/keys/{spare['id']}/revoke", params={"and_made": True}).json()
    assert revoked["valid_keys_made"] == []
    assert signed_in(client, theirs["text"]).get("/v1/jobs").is_success


def test_round_of_a_member_adds_to_no_dataset_of_another(client: TestClient, session: Session, owner: Key) -> None:
    ada = join(client, "member")
    theirs, round_ = make_dataset(session, owner[0].owner_id), make_round(session, owner[0].owner_id)
    round_.created_by = ada["id"]
    session.commit()
    member = signed_in(client, ada["key"]["text"])
    closed = member.post(f"/v1/annotation/rounds/{round_.id}/close", json={"dataset": theirs.id})
    assert "to what another member made" in problem(closed, 403, "not_allowed")["detail"]
