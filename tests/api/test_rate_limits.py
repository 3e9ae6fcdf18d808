"""The limit on the requests of a key, and its headers."""

from functools import cache

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.access.rate_limits import RequestLimit, request_limit
from core.settings import Settings
from tests.api.problem_checks import problem

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def limited(app: FastAPI, settings: Settings, owner: object, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Ten requests in an hour, which no test outlasts."""
    app.state.settings = settings.model_copy(update={"requests_per_second": 1})
    monkeypatch.setattr(
        "api.deps.request_limit", cache(lambda redis_url, per_second: RequestLimit(redis_url, 10, 3600))
    )
    return settings


def test_the_window_of_a_rate_is_ten_seconds() -> None:
    limit = request_limit(NOBODY, 3)
    assert (limit.quota, limit.seconds) == (30, 10)


@pytest.mark.parametrize("redis", ["real", "away"])
def test_requests_beyond_the_limit_are_told_when_to_return(
    limited: Settings, app: FastAPI, client: TestClient, anonymous: TestClient, session: Session, redis: str
) -> None:
    if redis == "away":
        app.state.settings = app.state.settings.model_copy(update={"redis_url": NOBODY})
    first = client.get("/v1/jobs")
    assert first.headers["ratelimit-policy"] == '"requests";q=10;w=3600'
    assert first.headers["ratelimit"].startswith('"requests";r=9;t=')
    assert all(client.get("/v1/jobs/job_none").status_code == 404 for _ in range(9))
    refused = client.get("/v1/jobs")
    found = problem(refused, 429, "rate_limited")
    assert "1 requests per second (PROXIMAL_REQUESTS_PER_SECOND)" in found["detail"]
    assert 1 <= int(refused.headers["retry-after"]) <= 3600 and refused.headers["x-should-retry"] == "true"
    assert refused.headers["ratelimit"].startswith('"requests";r=0;t=')
    _, text = keys.create_key(session, "second")
    session.commit()
    assert anonymous.get("/v1/jobs", headers={"Authorization": f"Bearer {text}"}).status_code == 200


def test_keys_of_an_owner_count_together(limited: Settings, client: TestClient, anonymous: TestClient) -> None:
    made = client.post("/v1/keys", json={"name": "another"}).json()["text"]
    response = anonymous.get("/v1/jobs", headers={"Authorization": f"Bearer {made}"})
    assert response.headers["ratelimit"].startswith('"requests";r=8;t=')


def test_browsers_of_an_owner_count_together(limited: Settings, app: FastAPI, owner: tuple[object, str]) -> None:
    for remaining in (9, 8):
        with TestClient(app) as browser:
            assert browser.post("/v1/session", json={"token": owner[1]}).status_code == 200
            assert browser.get("/v1/jobs").headers["ratelimit"].startswith(f'"requests";r={remaining};t=')


def test_browser_counts_apart_from_its_key(limited: Settings, client: TestClient, owner: tuple[object, str]) -> None:
    assert client.post("/v1/session", json={"token": owner[1]}).status_code == 200
    while client.get("/v1/jobs").status_code != 429:
        pass
    del client.headers["Authorization"]
    assert client.get("/v1/jobs").status_code == 200


def test_no_limit_sends_no_headers(app: FastAPI, settings: Settings, client: TestClient) -> None:
    app.state.settings = settings.model_copy(update={"requests_per_second": 0})
    assert "ratelimit" not in client.get("/v1/jobs").headers
