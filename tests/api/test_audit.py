"""The audit log over REST: what a row holds, who may read it, filters, pages, exports and the check of the chain."""

import csv
import io
import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys, members
from core.audit.chain import hash_of
from core.db import engine_for
from core.models import ApiKey, Dataset, Role, UserKind
from core.settings import Settings
from tests.api.problem_checks import problem

NEXT = {"model": "other/model"}


def rows(client: TestClient, **wanted: Any) -> list[dict[str, Any]]:
    """The rows that match, oldest first."""
    answer = client.get("/v1/audit", params={"order": "asc", "limit": 100, **wanted})
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return found


def tamper(settings: Settings, statement: str) -> None:
    """Change the log as a superuser who switches the trigger off."""
    with engine_for(settings.database_url).begin() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.exec_driver_sql(statement)


def test_change_has_a_row_with_its_columns(client: TestClient, owner: tuple[ApiKey, str]) -> None:
    made = client.post("/v1/groups", json={"name": "first"})
    (row,) = rows(client, action="create_group")
    key = owner[0]
    assert row["actor"] == {
        "user_id": key.user_id,
        "name": "tester",
        "role": "admin",
        "key_id": key.id,
        "address": "testclient",
    }
    assert row["target"] == {"kind": "group", "id": made.json()["id"]}
    assert (row["status"], row["request_id"]) == (201, made.headers["X-Request-Id"])
    (change,) = row["changes"]
    assert change["before"] is None and change["after"]["name"] == "first"


def test_change_of_a_column_has_it_before_and_after(client: TestClient, dataset: Dataset) -> None:
    client.patch(f"/v1/datasets/{dataset.id}", json={"name": "new"}).raise_for_status()
    (row,) = rows(client, object=dataset.id)
    assert row["action"] == "change_dataset"
    (change,) = row["changes"]
    assert (change["kind"], change["id"], change["after"]) == ("dataset", dataset.id, {"name": "new"})
    assert change["before"] == {"name": dataset.name}


def test_change_that_changes_nothing_has_no_row(client: TestClient, dataset: Dataset) -> None:
    for _ in range(2):
        client.post(f"/v1/datasets/{dataset.id}/archive").raise_for_status()
    assert [row["action"] for row in rows(client, object=dataset.id)] == ["archive_dataset"]


def test_deletion_by_a_statement_has_the_row_before(client: TestClient, body: dict[str, object]) -> None:
    job = client.post("/v1/jobs", json=body).json()["id"]
    client.post(f"/v1/jobs/{job}/cancel").raise_for_status()
    client.delete(f"/v1/jobs/{job}").raise_for_status()
    (row,) = rows(client, action="delete_job")
    deleted = next(change for change in row["changes"] if change["kind"] == "job")
    assert (deleted["id"], deleted["after"]) == (job, None)
    assert deleted["before"]["status"] == "cancelled" and deleted["before"]["spec"]["model"]["path"] == "some/model"


def test_refused_and_failed_requests(client: TestClient, anonymous: TestClient, session: Session, owner: Any) -> None:
    """A request that the caller's role refuses has a row. One that fails for another reason changes nothing."""
    viewer = members.add(session, owner[0].owner_id, "Vic", UserKind.PERSON, Role.VIEWER).user.id
    _, text = keys.add_key(session, owner[0].owner_id, "v", user_id=viewer)
    session.commit()
    problem(
        anonymous.post("/v1/groups", json={"name": "g"}, headers={"Authorization": f"Bearer {text}"}),
        403,
        "not_allowed",
    )
    problem(client.post("/v1/groups", json={"nam": ""}), 422, "invalid_request")
    (row,) = rows(client, action="create_group")
    assert (row["status"], row["actor"]["name"], row["changes"]) == (403, "Vic", [])


def test_key_has_no_secret_in_its_row(client: TestClient, settings: Settings) -> None:
    text = client.post("/v1/keys", json={"name": "laptop"}).json()["text"]
    sent = client.get("/v1/audit/export").text
    with engine_for(settings.database_url).connect() as connection:
        hashes = connection.exec_driver_sql("SELECT sha256 FROM api_keys").scalars().all()
    assert "laptop" in sent and text not in sent and not any(one in sent for one in hashes)


def test_reads_of_data_keys_and_the_log_have_rows(client: TestClient, dataset: Dataset) -> None:
    for address in (f"/v1/datasets/{dataset.id}/rows", f"/v1/datasets/{dataset.id}/export", "/v1/keys", "/v1/jobs"):
        client.get(address).raise_for_status()
    client.get("/v1/datasets/overlap", params={"dataset": dataset.id, "other": dataset.id})
    client.get("/v1/audit/verification").raise_for_status()
    found = [(row["action"], row["target"]["kind"]) for row in rows(client)]
    assert found[:3] == [("list_dataset_rows", "dataset"), ("export_dataset", "dataset"), ("list_keys", "project")]
    assert found[-1] == ("verify_audit_log", "project") and "list_jobs" not in [action for action, _ in found]
    assert [row["action"] for row in rows(client)][-1] == "list_audit_rows"


def test_sign_in_has_a_row(anonymous: TestClient, client: TestClient, owner: tuple[ApiKey, str]) -> None:
    anonymous.post("/v1/session", json={"token": owner[1]}, headers={"Origin": "http://testserver"}).raise_for_status()
    assert [row["actor"]["name"] for row in rows(client, action="sign_in")] == ["tester"]


def test_filters_and_pages(client: TestClient) -> None:
    for name in "abc":
        client.post("/v1/groups", json={"name": name}).raise_for_status()
    client.post("/v1/templates", json={"name": "t", "spec": {}}).raise_for_status()
    first = client.get("/v1/audit", params={"action": "create_group", "limit": 2}).json()
    assert [row["number"] for row in first["data"]] == [3, 2] and first["has_more"]
    last = client.get("/v1/audit", params={"action": "create_group", "limit": 2, "after": first["last_id"]}).json()
    assert [row["number"] for row in last["data"]] == [1] and not last["has_more"]
    third = rows(client)[2]
    assert [row["number"] for row in rows(client, since=third["at"], action="create_template")] == [4]
    assert [row["number"] for row in rows(client, until=third["at"])] == [1, 2]
    assert rows(client, actor="usr_other") == []
    for after in ("aud_x", "3", "aud_" + "9" * 30):
        problem(client.get("/v1/audit", params={"after": after}), 422, "invalid_request")


def test_exports_hold_the_rows_that_the_hash_covers(client: TestClient) -> None:
    client.post("/v1/groups", json={"name": "=1+1"}).raise_for_status()
    client.post("/v1/groups", json={"name": "b"}).raise_for_status()
    exported = client.get("/v1/audit/export", params={"action": "create_group"})
    assert exported.headers["content-type"].startswith("application/jsonl")
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert [line["changes"][0]["after"]["name"] for line in lines] == ["=1+1", "b"]
    from datetime import datetime

    previous = ""
    for line in lines:
        previous_hash, previous = previous, line["hash"]
        assert hash_of(line | {"at": datetime.fromisoformat(line["at"])}, previous_hash) == line["hash"]
    table = list(csv.DictReader(io.StringIO(client.get("/v1/audit/export", params={"format": "csv"}).text)))
    assert [row["number"] for row in table[:2]] == ["1", "2"] and table[0]["hash"] == lines[0]["hash"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ANNOTATOR, Role.MEMBER])
def test_only_an_admin_reads_the_log(client: TestClient, session: Session, owner: Any, role: Role) -> None:
    user = members.add(session, owner[0].owner_id, role, UserKind.PERSON, role).user.id
    _, text = keys.add_key(session, owner[0].owner_id, role, user_id=user)
    session.commit()
    for address in ("", "/export", "/verification"):
        answer = client.get(f"/v1/audit{address}", headers={"Authorization": f"Bearer {text}"})
        problem(answer, 403, "not_allowed")
    refused = [(row["action"], row["status"]) for row in rows(client)]
    assert refused == [("list_audit_rows", 403), ("export_audit_log", 403), ("verify_audit_log", 403)]


def test_another_project_sees_nothing(client: TestClient, anonymous: TestClient, session: Session) -> None:
    client.post("/v1/groups", json={"name": "ours"}).raise_for_status()
    _, text = keys.create_key(session, "other")
    session.commit()
    headers = {"Authorization": f"Bearer {text}"}
    assert anonymous.get("/v1/audit", headers=headers).json()["data"] == []
    assert "ours" not in anonymous.get("/v1/audit/export", headers=headers).text
    checked = anonymous.get("/v1/audit/verification", headers=headers).json()
    assert (checked["valid"], checked["first"]) == (True, 1)  # its own reads


def test_tampered_row_is_named(client: TestClient, settings: Settings) -> None:
    for name in "abc":
        client.post("/v1/groups", json={"name": name}).raise_for_status()
    assert client.get("/v1/audit/verification").json()["valid"]
    tamper(settings, "UPDATE audit_rows SET user_name = 'somebody else' WHERE number = 2")
    found = client.get("/v1/audit/verification").json()
    assert (found["valid"], found["rows"]) == (False, 1)
    assert found["fault"] == {"number": 2, "reason": "Row 2 is not as it was written: its hash does not fit."}


@pytest.mark.parametrize(("number", "reason"), [(2, "row 3 follows row 1"), (1, "row 2 follows row 0")])
def test_removed_row_is_named(client: TestClient, settings: Settings, number: int, reason: str) -> None:
    for name in "abc":
        client.post("/v1/groups", json={"name": name}).raise_for_status()
    tamper(settings, f"DELETE FROM audit_rows WHERE number = {number}")
    fault = client.get("/v1/audit/verification").json()["fault"]
    assert fault == {"number": number, "reason": f"Row {number} is missing: {reason}."}


def test_removed_end_is_named(client: TestClient, settings: Settings) -> None:
    for name in "abc":
        client.post("/v1/groups", json={"name": name}).raise_for_status()
    tamper(settings, "DELETE FROM audit_rows WHERE number = 3")
    fault = client.get("/v1/audit/verification").json()["fault"]
    assert fault == {"number": 3, "reason": "Row 3 is missing: 3 rows were written."}
