import hashlib
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from sqlalchemy import select
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from api.acts import client_address
from core.access import keys
from core.db import session_scope
from core.errors import SettingsError
from core.models import ApiKey, SignInCode
from core.settings import Settings, get_settings
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
    assert response.json()["key"] == {"id": owner[0].id, "name": "tester", "operator": False}
    who = anonymous.get("/v1/session").json()
    assert (who["object"], who["key"]["id"]) == ("session", owner[0].id) and who["expires_at"].endswith("Z")


def test_over_https_the_cookie_is_secure(anonymous: TestClient, owner: tuple[ApiKey, str]) -> None:
    anonymous.base_url = "https://testserver"
    assert "Secure" in anonymous.post("/v1/session", json={"token": owner[1]}).headers["set-cookie"]


@pytest.fixture
def code(client: TestClient) -> str:
    made = client.post("/v1/session/codes")
    assert made.status_code == 201 and made.json()["object"] == "session.code"
    return str(made.json()["code"])


def test_a_code_signs_in_once(anonymous: TestClient, code: str, owner: tuple[ApiKey, str]) -> None:
    signed_in = anonymous.post("/v1/session", json={"code": code}, headers=OURS)
    assert signed_in.status_code == 200 and "set-cookie" in signed_in.headers
    assert anonymous.get("/v1/session").json()["key"]["id"] == owner[0].id
    anonymous.cookies.clear()
    refused = anonymous.post("/v1/session", json={"code": code}, headers=OURS)
    problem(refused, 401, "not_signed_in")
    assert "set-cookie" not in refused.headers


def test_a_code_is_stored_as_its_hash(code: str, settings: Settings) -> None:
    with session_scope() as session:
        (stored,) = session.scalars(select(SignInCode)).all()
    assert stored.sha256 == hashlib.sha256(code.encode()).hexdigest()
    assert stored.expires_at - stored.created_at == pytest.approx(timedelta(minutes=10), abs=timedelta(minutes=5))


def test_a_code_expires(anonymous: TestClient, code: str) -> None:
    with session_scope() as session:
        session.connection().exec_driver_sql("UPDATE sign_in_codes SET expires_at = now() - interval '1 s'")
    problem(anonymous.post("/v1/session", json={"code": code}), 401, "not_signed_in")


def test_a_code_of_a_revoked_key_opens_nothing(anonymous: TestClient, code: str, owner: tuple[ApiKey, str]) -> None:
    with session_scope() as session:
        keys.revoke_key(session, owner[0].id)
    problem(anonymous.post("/v1/session", json={"code": code}), 401, "not_signed_in")


def test_a_code_is_no_key_and_a_key_is_no_code(anonymous: TestClient, code: str, owner: tuple[ApiKey, str]) -> None:
    problem(anonymous.post("/v1/session", json={"token": code}), 401, "not_signed_in")
    problem(anonymous.post("/v1/session", json={"code": owner[1]}), 401, "not_signed_in")
    problem(anonymous.post("/v1/session", json={"code": code, "token": owner[1]}), 422, "invalid_request")


def test_a_browser_session_cannot_make_codes(browser: TestClient) -> None:
    problem(browser.post("/v1/session/codes", headers=OURS), 401, "not_signed_in")


def test_only_one_of_two_browsers_gets_in_with_a_code(app: FastAPI, code: str) -> None:
    statuses: list[int] = []

    def sign_in() -> None:
        statuses.append(TestClient(app).post("/v1/session", json={"code": code}).status_code)

    threads = [Thread(target=sign_in) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 401, 401, 401]


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


def test_wrong_keys_in_a_row_are_refused_with_retry_after(anonymous: TestClient, settings: Settings) -> None:
    for number in range(settings.wrong_keys_per_address):
        problem(anonymous.post("/v1/session", json={"token": f"prx_{number}"}), 401, "not_signed_in")
    refused = anonymous.post("/v1/session", json={"token": "prx_guess"})
    problem(refused, 429, "too_many_tries")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    problem(anonymous.get("/v1/jobs", headers={"Authorization": "Bearer prx_guess"}), 429, "too_many_tries")


def test_wrong_keys_do_not_lock_out_another_address(
    app: FastAPI, owner: tuple[ApiKey, str], settings: Settings
) -> None:
    with TestClient(app, client=("10.0.0.1", 1)) as guessing, TestClient(app, client=("10.0.0.2", 1)) as other:
        for number in range(settings.wrong_keys_per_address + 1):
            last = guessing.get("/v1/jobs", headers={"Authorization": f"Bearer prx_{number}"})
        problem(last, 429, "too_many_tries")
        assert other.post("/v1/session", json={"token": owner[1]}).status_code == 200


@pytest.mark.parametrize(("proxies", "expected"), [([], "testclient"), (["10.9.9.9"], "testclient")])
def test_forwarded_address_of_an_untrusted_client_is_ignored(proxies: list[str], expected: str) -> None:
    assert forwarded("testclient", proxies) == expected


def test_forwarded_address_of_a_trusted_proxy_is_the_last_one() -> None:
    """The client itself may have sent the first one."""
    assert forwarded("10.0.0.2", ["10.0.0.0/24"]) == "203.0.113.7"


def test_trusted_proxies_must_be_named(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv("PROXIMAL_TRUSTED_PROXIES", "*")
    get_settings.cache_clear()
    with pytest.raises(SettingsError, match="every client choose its address"):
        get_settings()


def forwarded(client: str, proxies: list[str]) -> str:
    """The client's address as the application sees it behind uvicorn's reading of the proxies' headers."""
    found = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found.append(client_address(Request(scope)))
        await Response()(scope, receive, send)

    sender = TestClient(ProxyHeadersMiddleware(app, proxies), client=(client, 1))
    sender.get("/", headers={"X-Forwarded-For": "198.51.100.1, 203.0.113.7"})
    return found[0]


def test_signed_in_browsers_are_listed_and_ended(
    browser: TestClient, client: TestClient, app: FastAPI, owner: tuple[ApiKey, str]
) -> None:
    with TestClient(app, headers={"User-Agent": "Phone 1.0"}) as phone:
        phone.post("/v1/session", json={"token": owner[1]})
        listed = browser.get("/v1/sessions").json()["data"]
        assert [(one["current"], one["user_agent"]) for one in listed] == [(False, "Phone 1.0"), (True, "testclient")]
        assert listed[0]["key"]["id"] == owner[0].id and listed[0]["id"].startswith("ses_")
        assert [one["current"] for one in client.get("/v1/sessions").json()["data"]] == [False, False]
        assert client.delete(f"/v1/sessions/{listed[0]['id']}").status_code == 204
        problem(phone.get("/v1/session"), 401, "not_signed_in")
    assert browser.get("/v1/session").status_code == 200
    problem(client.delete(f"/v1/sessions/{listed[0]['id']}"), 404, "not_found")


def test_sessions_of_another_member_are_not_listed(client: TestClient, app: FastAPI, browser: TestClient) -> None:
    """Not even to an admin, who ends them by revoking the key."""
    other = client.post("/v1/members", json={"name": "Ada", "role": "admin"}).json()
    mine = browser.get("/v1/sessions").json()["data"][0]["id"]
    with TestClient(app, headers={"Authorization": f"Bearer {other['key']['text']}"}) as ada:
        assert ada.get("/v1/sessions").json()["data"] == []
        problem(ada.delete(f"/v1/sessions/{mine}"), 404, "not_found")


def test_id_of_a_session_is_no_cookie(browser: TestClient, app: FastAPI) -> None:
    (listed,) = browser.get("/v1/sessions").json()["data"]
    for name in (listed["id"], listed["id"].removeprefix("ses_")):
        with TestClient(app, cookies={"proximal_session": name}) as thief:
            problem(thief.get("/v1/session"), 401, "not_signed_in")
