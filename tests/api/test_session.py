from typing import Any

import pytest
from fastapi.testclient import TestClient

from core.access import keys
from core.db import session_scope
from core.models import ApiKey
from core.settings import Settings
from tests.api.problem_checks import problem

OURS = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def browser(anonymous: TestClient, owner: tuple[ApiKey, str]) -> TestClient:
    response = anonymous.post("/v1/session", json={"token": owner[1]}, headers=OURS)
    assert response.status_code == 200
    return anonymous


def test_signing_in_gives_a_cookie_that_scripts_cannot_read(anonymous: TestClient, owner: tuple[ApiKey, str]) -> None:
    response = anonymous.post("/v1/session", json={"token": owner[1]})
    cookie = response.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie and owner[1] not in cookie
    assert response.json()["key"] == {"id": owner[0].id, "name": "tester"}
    who = anonymous.get("/v1/session").json()
    assert (who["object"], who["key"]["id"]) == ("session", owner[0].id) and who["expires_at"].endswith("Z")


def test_over_https_the_cookie_is_secure(anonymous: TestClient, owner: tuple[ApiKey, str]) -> None:
    anonymous.base_url = "https://testserver"
    assert "Secure" in anonymous.post("/v1/session", json={"token": owner[1]}).headers["set-cookie"]


def test_a_wrong_token_opens_nothing(anonymous: TestClient) -> None:
    response = anonymous.post("/v1/session", json={"token": "prx_guess"})
    problem(response, 401, "not_signed_in")
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("body", [{}, {"token": 3}, []])
def test_a_sign_in_without_a_token(anonymous: TestClient, body: Any) -> None:
    problem(anonymous.post("/v1/session", json=body), 422, "invalid_request")


def test_session_without_a_key_is_refused(anonymous: TestClient) -> None:
    response = anonymous.get("/v1/jobs")
    problem(response, 401, "not_signed_in")
    assert response.headers["www-authenticate"] == "Bearer"
    for header in ("Bearer prx_wrong", "Basic eDp5", "Bearer"):
        problem(anonymous.get("/v1/jobs", headers={"Authorization": header}), 401, "not_signed_in")


def test_a_revoked_key_ends_its_sessions(browser: TestClient, owner: tuple[ApiKey, str]) -> None:
    with session_scope() as session:
        keys.revoke_key(session, owner[0].id)
    problem(browser.get("/v1/session"), 401, "not_signed_in")


def test_signing_out_ends_the_session_for_good(browser: TestClient) -> None:
    token = browser.cookies["proximal_session"]
    assert browser.delete("/v1/session", headers=OURS).status_code == 204
    assert "proximal_session" not in browser.cookies
    browser.cookies["proximal_session"] = token
    problem(browser.get("/v1/session"), 401, "not_signed_in")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver:81"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    ],
)
def test_a_cookie_changes_nothing_for_other_sites(browser: TestClient, headers: dict[str, str]) -> None:
    problem(browser.post("/v1/jobs", json={}, headers=headers), 403, "cross_origin")


def test_session_requests_from_the_same_origin_are_allowed(browser: TestClient) -> None:
    for headers in (OURS, {"Origin": "http://testserver"}, {"Sec-Fetch-Site": "same-origin"}):
        problem(browser.post("/v1/jobs", json={}, headers=headers), 422, "invalid_spec")


def test_reading_needs_no_origin(browser: TestClient) -> None:
    assert browser.get("/v1/jobs").status_code == 200


def test_another_site_cannot_sign_a_browser_in(anonymous: TestClient, owner: tuple[ApiKey, str]) -> None:
    headers = {"Origin": "https://evil.example"}
    problem(anonymous.post("/v1/session", json={"token": owner[1]}, headers=headers), 403, "cross_origin")


def test_a_session_ends_by_itself(browser: TestClient, settings: Settings) -> None:
    with session_scope() as session:
        session.connection().exec_driver_sql("UPDATE browser_sessions SET expires_at = now() - interval '1 s'")
    problem(browser.get("/v1/session"), 401, "not_signed_in")
