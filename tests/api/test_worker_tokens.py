"""Tokens with which workers join."""

import hashlib
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from threading import Thread

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.access import keys
from core.blobs import blob_store
from core.models import ApiKey, WorkerToken
from core.settings import Settings
from core.storage_probe import KEY
from tests.api.problem_checks import problem
from tests.api.test_workers import operator as operator

OURS = version("proximal-rlhf")


@pytest.fixture
def token(operator: TestClient) -> str:
    made = operator.post("/v1/workers/tokens")
    assert made.status_code == 201 and made.json()["object"] == "worker.token"
    return str(made.json()["token"])


def join(client: TestClient, token: str, version: str = OURS) -> Response:
    return client.post("/v1/workers/join", json={"version": version}, headers={"Authorization": f"Bearer {token}"})


def test_a_token_gives_the_settings_once(
    anonymous: TestClient, token: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXIMAL_LEASE_SECONDS", "21")
    monkeypatch.setenv("PROXIMAL_LABELS", "of-the-api-machine")
    joined = join(anonymous, token).json()
    environment = joined["environment"]
    assert environment["DATABASE_URL"] == settings.database_url and environment["REDIS_URL"] == settings.redis_url
    assert environment["PROXIMAL_BLOB_URL"] == f"file://{settings.blob_dir}"
    assert environment["PROXIMAL_LEASE_SECONDS"] == "21"
    assert not {"PROXIMAL_LABELS", "PROXIMAL_DATA_DIR"} & set(environment)
    with blob_store(settings).open(KEY) as probe:
        assert joined["storage_probe"] == hashlib.sha256(probe.read()).hexdigest()
    problem(join(anonymous, token), 401, "not_signed_in")


def test_other_machines_get_the_addresses_for_them(
    anonymous: TestClient, token: str, app: FastAPI, settings: Settings
) -> None:
    elsewhere = {"join_database_url": "postgresql://db.example/p", "join_redis_url": "redis://redis.example"}
    elsewhere["join_blob_url"] = "file:///mnt/blobs"
    app.state.settings = settings.model_copy(update=elsewhere)
    environment = join(anonymous, token).json()["environment"]
    assert environment["DATABASE_URL"] == "postgresql://db.example/p"
    assert environment["REDIS_URL"] == "redis://redis.example"
    assert environment["PROXIMAL_BLOB_URL"] == "file:///mnt/blobs"


def test_another_version_is_refused_and_the_token_kept(anonymous: TestClient, token: str) -> None:
    refused = problem(join(anonymous, token, "0.0.1"), 409, "wrong_version")
    assert "0.0.1" in refused["detail"] and refused["version"] == OURS
    assert join(anonymous, token).status_code == 200


def test_a_token_is_stored_as_its_hash_and_expires(anonymous: TestClient, token: str, session: Session) -> None:
    (stored,) = session.scalars(select(WorkerToken)).all()
    assert stored.sha256 == hashlib.sha256(token.encode()).hexdigest()
    session.execute(text("UPDATE worker_tokens SET expires_at = now() - interval '1 s'"))
    session.commit()
    problem(join(anonymous, token), 401, "not_signed_in")


def test_a_token_ends_with_the_key_that_made_it(
    anonymous: TestClient, token: str, session: Session, owner: tuple[ApiKey, str]
) -> None:
    keys.revoke_key(session, owner[0].id)
    session.commit()
    problem(join(anonymous, token), 401, "not_signed_in")


def test_a_token_ends_with_the_end_of_its_key(
    anonymous: TestClient, token: str, session: Session, owner: tuple[ApiKey, str]
) -> None:
    session.get_one(ApiKey, owner[0].id).expires_at = datetime.now(UTC) - timedelta(seconds=1)
    session.commit()
    problem(join(anonymous, token), 401, "not_signed_in")


def test_a_token_of_a_former_operator_is_refused(
    anonymous: TestClient, token: str, session: Session, owner: tuple[ApiKey, str]
) -> None:
    session.get_one(ApiKey, owner[0].id).operator = False
    session.commit()
    problem(join(anonymous, token), 401, "not_signed_in")


def test_only_an_operator_makes_tokens(client: TestClient, owner: tuple[ApiKey, str]) -> None:
    problem(client.post("/v1/workers/tokens"), 403, "not_operator")
    problem(join(client, owner[1]), 401, "not_signed_in")


def test_a_token_is_no_key(anonymous: TestClient, token: str) -> None:
    refused = anonymous.get("/v1/jobs", headers={"Authorization": f"Bearer {token}"})
    problem(refused, 401, "not_signed_in")


def test_a_join_without_a_token_is_refused(anonymous: TestClient) -> None:
    problem(anonymous.post("/v1/workers/join", json={"version": OURS}), 401, "not_signed_in")


def test_one_of_several_machines_gets_in_with_a_token(app: FastAPI, token: str) -> None:
    statuses: list[int] = []
    threads = [Thread(target=lambda: statuses.append(join(TestClient(app), token).status_code)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 401, 401, 401]
