import json
import logging
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.exc import InterfaceError
from sqlalchemy.orm import Session

from api.app import create_app
from api.deps import SessionDep
from core.models import ApiKey
from core.settings import Settings
from tests.api.problem_checks import problem


@pytest.mark.parametrize("path", ["/v1/nope", "/v1", "/v1/jobs/x/y/z", "/docs/x", "/openapi.json/x"])
def test_an_address_that_does_not_exist(client: TestClient, path: str) -> None:
    problem(client.get(path), 404, "not_found")


BEYOND = 2**63


@pytest.mark.parametrize(
    ("method", "path", "given", "pointer"),
    [
        ("GET", "/v1/jobs/job_%00", None, "/job_id"),
        ("GET", "/v1/groups/grp_%00", None, "/group_id"),
        ("POST", "/v1/groups", {"name": "a\x00"}, "#/name"),
        ("POST", "/v1/groups", {"metric": "a\ud800"}, "#/metric"),
        ("POST", "/v1/groups", {"max_parallel": BEYOND}, "#/max_parallel"),
        ("POST", "/v1/sweeps", {"name": "a\x00"}, "#/name"),
        ("POST", "/v1/sweeps/validate", {"name": "a\x00"}, "#/name"),
        ("POST", "/v1/sweeps/validate", {"max_parallel": BEYOND}, "#/max_parallel"),
        ("POST", "/v1/sweeps/validate", {"parameters": {"name": ["b", "a\x00"]}}, "#/parameters/name/1"),
        ("POST", "/v1/jobs?group=grp_%00", {}, "?group"),
        ("POST", "/v1/jobs/{job}/branch", {"stage": "ppo", "step": BEYOND}, "#/step"),
        ("POST", "/v1/jobs/{job}/branch", {"checkpoint": "a\x00"}, "#/checkpoint"),
    ],
)
def test_value_that_cannot_be_stored_names_its_field(
    client: TestClient, body: dict[str, Any], method: str, path: str, given: Any, pointer: str
) -> None:
    whole = {"/v1/jobs": body, "/v1/sweeps": {"spec": body, "parameters": {"seed": [1]}}}
    if "{job}" in path:
        path = path.format(job=client.post("/v1/jobs", json=body).json()["id"])
    start = next((one for prefix, one in whole.items() if path.partition("?")[0] in (prefix, f"{prefix}/validate")), {})
    sent = None if given is None else json.dumps(start | given)
    as_json = {"Content-Type": "application/json"}
    found = problem(client.request(method, path, content=sent, headers=as_json), 422, "invalid_request")
    assert [one["pointer"] for one in found["errors"]] == [pointer] and pointer in found["detail"]


def test_a_method_that_does_not_exist(client: TestClient) -> None:
    assert problem(client.put("/v1/jobs"), 405, "method_not_allowed")
    assert problem(client.post("/"), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("/v1/jobs?limit=0", "?limit"),
        ("/v1/jobs?limit=many", "?limit"),
        ("/v1/jobs?status=unheard", "?status/0"),
        ("/v1/jobs?order=sideways", "?order"),
        ("/v1/jobs?after=job_nope", "?after"),
        ("/v1/datasets?kind=x", "?kind"),
    ],
)
def test_a_parameter_that_is_wrong(client: TestClient, path: str, pointer: str) -> None:
    document = problem(client.get(path), 422, "invalid_request")
    assert document["errors"][0]["pointer"] == pointer
    assert document["errors"][0]["detail"]


def test_values_that_no_database_holds(client: TestClient) -> None:
    problem(client.get("/v1/jobs/%00"), 422, "invalid_request")
    problem(client.get(f"/v1/jobs?after={'9' * 400}"), 422, "invalid_request")


@pytest.mark.parametrize("content", [b"{", b"[1,", b"{'a': 1}", b"nope"])
def test_a_body_that_is_not_json(client: TestClient, content: bytes) -> None:
    response = client.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    assert "not valid JSON" in problem(response, 422, "invalid_request")["detail"]


def test_a_body_that_is_not_text(client: TestClient) -> None:
    response = client.post("/v1/jobs", content=b"\xff\xfe{", headers={"Content-Type": "application/json"})
    problem(response, 400, "bad_request")


def test_a_body_nested_beyond_reason(client: TestClient) -> None:
    content = b'{"a":' * 100_000
    response = client.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    problem(response, response.status_code, response.json()["code"])
    assert 400 <= response.status_code < 500


@pytest.mark.parametrize("content", [b'{"seed": 1, "seed": 2}', b'{"ppo": {"steps": 1, "steps": 2}}'])
def test_body_with_repeated_key_is_refused(client: TestClient, content: bytes) -> None:
    response = client.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    assert "twice" in problem(response, 422, "invalid_request")["detail"]


@pytest.mark.parametrize("content", [b"[]", b"null", b"3", b'"x"'])
def test_a_body_that_is_no_object(client: TestClient, content: bytes) -> None:
    response = client.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    problem(response, 422, response.json()["code"])


def test_body_of_another_content_type_is_415(client: TestClient) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}):
        problem(client.post("/v1/jobs", content=b'{"ppo": {}}', headers=headers), 415, "wrong_media_type")


def test_a_body_that_is_too_large(settings: Settings, owner: tuple[ApiKey, str], body: dict[str, Any]) -> None:
    small = settings.model_copy(update={"max_body_bytes": 100})
    with TestClient(create_app(small), headers={"Authorization": f"Bearer {owner[1]}"}) as client:
        problem(client.post("/v1/jobs", json=body | {"name": "x" * 100}), 413, "too_large")
        chunks = iter([b'{"name": "' + b"x" * 60, b"x" * 60])  # no length promised
        headers = {"Content-Type": "application/json"}
        problem(client.post("/v1/jobs", content=chunks, headers=headers), 413, "too_large")


def test_crash_response_has_no_stack_but_the_log_has(
    app: FastAPI, owner: tuple[ApiKey, str], caplog: pytest.LogCaptureFixture
) -> None:
    @app.get("/v1/crash", include_in_schema=False)
    def crash() -> None:
        raise RuntimeError("the secret cause")

    with TestClient(app) as client:
        response = client.get("/v1/crash")
    document = problem(response, 500, "internal_error")
    assert "secret" not in response.text and "Traceback" not in response.text
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert document["request_id"] in record.getMessage() and record.exc_info is not None


def test_a_commit_that_fails_is_not_a_200(app: FastAPI, session: Session) -> None:
    """The transaction ends before the answer is sent: a deferred constraint speaks up only at the commit."""
    session.execute(text("CREATE TABLE IF NOT EXISTS late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
    session.commit()

    @app.post("/v1/late", include_in_schema=False)
    def late(session: SessionDep) -> dict[str, bool]:
        session.execute(text("INSERT INTO late VALUES (1), (1)"))
        return {"ok": True}

    with TestClient(app) as client:
        problem(client.post("/v1/late"), 500, "internal_error")
    assert session.execute(text("SELECT count(*) FROM late")).scalar_one() == 0
    session.execute(text("DROP TABLE late"))
    session.commit()


def test_unavailable_database_is_503(settings: Settings) -> None:
    away = settings.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"})
    with TestClient(create_app(away), headers={"Authorization": "Bearer prx_x"}) as client:
        response = client.get("/v1/jobs")
    problem(response, 503, "unavailable")
    assert response.headers["retry-after"]


def test_a_connection_that_is_lost_in_between_is_503(app: FastAPI) -> None:
    @app.get("/v1/lost", include_in_schema=False)
    def lost() -> None:
        raise InterfaceError("SELECT 1", None, Exception("the connection is closed"))

    with TestClient(app) as client:
        problem(client.get("/v1/lost"), 503, "unavailable")


def test_every_response_has_the_security_headers(client: TestClient) -> None:
    for path in ("/healthz", "/v1/jobs", "/v1/nope", "/docs", "/"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-request-id"].startswith("req_")


def test_the_log_holds_no_query(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="api"):
        client.get("/?token=prx_secret")
    assert "GET / " in caplog.text and "secret" not in caplog.text


def test_log_line_escapes_control_characters_of_the_path(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="api"):
        client.get("/v1/jobs/%0aFAKE%00%1b[31mLOG")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "api"]
    assert line.startswith("GET /v1/jobs/%0AFAKE%00%1B%5B31mLOG 422")


def test_dashboard_is_served_at_its_own_routes(settings: Settings, owner: tuple[ApiKey, str], tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>it</title>")
    (tmp_path / "assets" / "a.js").write_text("1")
    app = create_app(settings.model_copy(update={"dashboard_dir": tmp_path}))
    with TestClient(app) as client:
        for path in ("/", "/jobs/job_x", "/datasets"):
            page = client.get(path)
            assert (page.status_code, page.text) == (200, "<title>it</title>"), path
            assert page.headers["cache-control"] == "no-cache"
        assert client.get("/assets/a.js").headers["content-type"].startswith("text/javascript")
        problem(client.get("/assets/b.js"), 404, "not_found")
        problem(client.get("/v1/x"), 404, "not_found")
        for escape in ("/..%2f..%2fetc/passwd.txt", "/assets/..%2f..%2f..%2fetc%2fpasswd.txt"):
            problem(client.get(escape), 404, "not_found")


def test_dashboard_not_built_is_reported(settings: Settings, tmp_path: Path) -> None:
    app = create_app(settings.model_copy(update={"dashboard_dir": tmp_path / "absent"}))
    with TestClient(app) as client:
        response = client.get("/")
    assert response.status_code == 503 and "not built" in response.text


def test_slow_statement_is_ended_with_a_query_timeout(
    app: FastAPI, client: TestClient, settings: Settings, session: Session
) -> None:
    """A lock keeps the query waiting. The next request has a connection without the failed transaction."""
    app.state.settings = settings.model_copy(update={"statement_seconds": 0.3})
    session.execute(text("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE"))
    refused = client.get("/v1/workers")
    detail = problem(refused, 503, "query_timeout")["detail"]
    assert "0.3 s" in detail and "PROXIMAL_STATEMENT_SECONDS" in detail and refused.headers["retry-after"]
    session.rollback()
    assert client.get("/v1/workers").status_code == 200


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"name": "\xff"}', "not UTF-8 at byte 10"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "an integer of more than 4300 digits"),
        (b"[" * 100_000, "too many arrays or objects inside each other"),
    ],
)
def test_unreadable_json_error_names_the_cause(client: TestClient, body: bytes, detail: str) -> None:
    response = client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    assert detail in problem(response, 400, "bad_request")["detail"]


@pytest.mark.parametrize("error", ["53100", "57P01"], ids=["disk full", "stopped, with no room left"])
def test_full_disk_of_the_database_is_disk_full(
    client: TestClient, settings: Settings, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL itself raises the error, in place of the write."""

    def refuse(session: Session, *_: object, **__: object) -> None:
        session.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{error}'; END $$"))

    monkeypatch.setattr("core.access.keys.add_key", refuse)
    if error == "57P01":
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        monkeypatch.setattr("api.problems._LEAST_ROOM", 2**62)
    assert "full" in problem(client.post("/v1/keys", json={"name": "one"}), 507, "disk_full")["detail"]


def test_database_away_with_room_on_the_disk_is_unavailable(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(session: Session, *_: object, **__: object) -> None:
        session.execute(text("DO $$ BEGIN RAISE EXCEPTION 'bye' USING ERRCODE = '57P01'; END $$"))

    monkeypatch.setattr("core.access.keys.add_key", refuse)
    problem(client.post("/v1/keys", json={"name": "one"}), 503, "unavailable")
