from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.app import create_app
from core.settings import Settings


def test_health_live_is_200_while_the_process_runs(anonymous: TestClient) -> None:
    assert anonymous.get("/healthz").json() == {"status": "ok", "version": "0.1.0"}


def test_health_ready_is_200_with_every_service(anonymous: TestClient) -> None:
    response = anonymous.get("/readyz")
    checks = {"database": "ok", "migrations": "ok", "redis": "ok", "blobs": "ok"}
    assert (response.status_code, response.json()) == (200, {"status": "ok", "checks": checks, "notes": []})


def test_health_ready_names_missing_services_without_address(settings: Settings) -> None:
    away = {"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none", "redis_url": "redis://127.0.0.1:1"}
    with TestClient(create_app(settings.model_copy(update=away))) as client:
        response = client.get("/readyz")
        assert client.get("/healthz").status_code == 200
    assert response.status_code == 503 and response.json()["status"] == "failed"
    checks = response.json()["checks"]
    assert checks.pop("blobs") == "ok"
    assert all(outcome.startswith("does not respond") for outcome in checks.values())
    assert "127.0.0.1" not in response.text


def test_redis_that_refuses_commands_is_named(settings: Settings, redis_url: str) -> None:
    """A server with a full disk refuses all commands. This one refuses them for want of a permission."""
    with Redis.from_url(redis_url) as server:
        server.acl_setuser("probe", enabled=True, passwords=["+secret"], categories=["+@all"], commands=["-ping"])
    refusing = settings.model_copy(update={"redis_url": f"redis://probe:secret@{redis_url.rpartition('@')[2]}"})
    with TestClient(create_app(refusing)) as client:
        checks = client.get("/readyz").json()["checks"]
    assert checks["redis"].startswith("refuses commands")


def test_folder_of_blobs_that_is_a_file_is_not_ready(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    other = settings.model_copy(update={"blob_url": f"file://{tmp_path}/file"})
    with TestClient(create_app(other)) as client:
        checks = client.get("/readyz").json()["checks"]
    assert checks["blobs"].startswith("cannot be written (FileExistsError): check the folder of PROXIMAL_BLOB_URL")


@pytest.mark.parametrize(
    ("revision", "status"), [("9c4e7b1d05f2", 503), ("made_by_a_later_release", 200)], ids=["older", "newer"]
)
def test_an_older_schema_is_not_ready_but_a_newer_one_is(
    anonymous: TestClient, session: Session, revision: str, status: int
) -> None:
    head = session.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    session.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    session.commit()
    try:
        response = anonymous.get("/readyz")
    finally:
        session.execute(text("UPDATE alembic_version SET version_num = :head"), {"head": head})
        session.commit()
    assert response.status_code == status
    assert ("migrate" in response.json()["checks"]["migrations"]) == (status == 503)
