"""`Idempotency-Key`: a repeated request creates nothing and gets the first response."""

from threading import Thread
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from api.openapi import followed
from core import idempotency, models
from core.access import keys
from core.db import session_scope
from core.models import ApiKey
from tests.api.compatibility import committed
from tests.api.problem_checks import problem

KEY = {"Idempotency-Key": "4f0e"}
FILE = b'{"prompt": "p", "chosen": "a", "rejected": "b"}\n'


def count(session: Session, model: type[Any]) -> int:
    session.rollback()
    return session.scalars(select(func.count()).select_from(model)).one()


REPEATABLE = {
    "archive_dataset",
    "unarchive_dataset",
    "cancel_dataset_task",
    "cancel_validation",
    "complete_upload",
    "preview_upload",
}
"""A second request changes nothing."""
REPEATABLE |= {
    "next_annotation_items",
    "validate_job",
    "validate_sweep",
    "cancel_group",
    "archive_job",
    "unarchive_job",
    "cordon_worker",
    "uncordon_worker",
    "drain_worker",
    "sign_in",
    "create_sign_in_code",
    "create_worker_token",  # its response contains the token, which is not stored
    "join_worker",
    "create_key",  # its response contains the key, which is not stored
    "rotate_key",
    "create_member_key",
    "add_member",  # its response contains a key
    "revoke_key",
}


def test_every_post_may_be_repeated() -> None:
    schema = committed()
    posts = [item["post"] for item in schema["paths"].values() if "post" in item]
    without = {
        post["operationId"]
        for post in posts
        if "Idempotency-Key" not in [followed(schema, one)["name"] for one in post.get("parameters", [])]
    }
    assert without <= REPEATABLE


def test_repeated_creation_returns_the_first_response(
    client: TestClient, body: dict[str, object], session: Session
) -> None:
    first = client.post("/v1/jobs", json=body, headers=KEY)
    again = client.post("/v1/jobs", json=body, headers={"Idempotency-Key": '"4f0e"'})  # a string of RFC 8941
    assert first.status_code == again.status_code == 201
    assert again.content == first.content and again.headers["content-type"] == first.headers["content-type"]
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert count(session, models.Job) == 1
    other = client.post("/v1/jobs", json=body, headers={"Idempotency-Key": "5a1b"})
    assert other.json()["id"] != first.json()["id"]


def test_repeated_body_may_order_its_fields_otherwise(client: TestClient, body: dict[str, object]) -> None:
    first = client.post("/v1/jobs", json=body, headers=KEY)
    again = client.post("/v1/jobs", json=dict(reversed(body.items())), headers=KEY)
    assert again.json()["id"] == first.json()["id"]


def test_key_of_another_request_is_refused(client: TestClient, body: dict[str, object], session: Session) -> None:
    client.post("/v1/jobs", json=body, headers=KEY)
    problem(client.post("/v1/jobs", json=body | {"seed": 1}, headers=KEY), 422, "idempotency_key_reused")
    upload = {"filename": "a.jsonl", "bytes": 10}
    problem(client.post("/v1/uploads", json=upload, headers=KEY), 422, "idempotency_key_reused")
    assert count(session, models.Job) == 1 and count(session, models.Upload) == 0


def test_key_of_another_owner_is_free(client: TestClient, app: FastAPI, session: Session) -> None:
    _, other = keys.create_key(session, "other")
    session.commit()
    upload = {"filename": "a.jsonl", "bytes": 10}
    first = client.post("/v1/uploads", json=upload, headers=KEY)
    second = TestClient(app).post("/v1/uploads", json=upload, headers=KEY | {"Authorization": f"Bearer {other}"})
    assert second.status_code == 201 and second.json()["id"] != first.json()["id"]


def test_request_in_flight_is_a_conflict(
    client: TestClient, body: dict[str, object], owner: tuple[ApiKey, str]
) -> None:
    identity = idempotency.RequestIdentity(owner[0].owner_id, "4f0e", "POST /v1/jobs", "x")
    with session_scope() as other:
        assert idempotency.begin(other, identity) is None
        refused = client.post("/v1/jobs", json=body, headers=KEY)
    problem(refused, 409, "request_in_flight")
    assert refused.headers["retry-after"] and refused.headers["x-should-retry"] == "true"
    # The other request ended without a response, as one whose process was killed.
    assert client.post("/v1/jobs", json=body, headers=KEY).status_code == 201


def test_failed_request_leaves_nothing_and_may_be_repeated(
    client: TestClient, body: dict[str, object], session: Session
) -> None:
    wrong = body | {"data": {"preferences": "ds_nope"}}
    problem(client.post("/v1/jobs", json=wrong, headers=KEY), 404, "not_found")
    assert count(session, models.StoredResponse) == 0
    assert client.post("/v1/jobs", json=body, headers=KEY).status_code == 201


def test_response_expires(client: TestClient, body: dict[str, object], session: Session) -> None:
    first = client.post("/v1/jobs", json=body, headers=KEY).json()
    with session_scope() as own:
        own.connection().exec_driver_sql("UPDATE stored_responses SET expires_at = now() - interval '1 s'")
    assert client.post("/v1/jobs", json=body, headers=KEY).json()["id"] != first["id"]
    with session_scope() as own:
        own.connection().exec_driver_sql("UPDATE stored_responses SET expires_at = now() - interval '1 s'")
        idempotency.sweep(own)
    assert count(session, models.StoredResponse) == 0


def test_form_with_a_file_may_be_repeated(client: TestClient, session: Session) -> None:
    def send(content: bytes) -> Any:
        return client.post("/v1/datasets", files={"file": ("a.jsonl", content)}, data={"name": "a"}, headers=KEY)

    first, again = send(FILE), send(FILE)  # each with another boundary
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"] and count(session, models.Dataset) == 1
    problem(send(FILE + FILE), 422, "idempotency_key_reused")


def test_repeated_requests_at_once_create_one_job(app: FastAPI, client: TestClient, body: dict[str, object]) -> None:
    statuses: list[int] = []
    ids: set[str] = set()

    def send() -> None:
        response = TestClient(app).post("/v1/jobs", json=body, headers=KEY | dict(client.headers))
        statuses.append(response.status_code)
        if response.status_code == 201:
            ids.add(response.json()["id"])

    threads = [Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {201, 409} and len(ids) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ä", '"'])
def test_malformed_key_is_refused(client: TestClient, body: dict[str, object], key: str) -> None:
    headers = [(b"idempotency-key", key.encode())]
    problem(client.post("/v1/jobs", json=body, headers=headers), 422, "invalid_request")
