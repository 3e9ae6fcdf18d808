"""Webhooks over REST: their management, secrets, deliveries and rights."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from core.access import keys
from core.models import ApiKey, Webhook, WebhookDelivery
from core.settings import Settings, get_settings
from core.webhooks import deliveries
from core.webhooks.deliveries import Outcome
from core.webhooks.event_types import EventType
from tests.api.problem_checks import problem
from tests.api.test_members import join, signed_in
from tests.core.factories import make_job
from tests.core.webhooks.test_receivers import resolving

URL = "http://127.0.0.1:9/hook"
Key = tuple[ApiKey, str]


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_WEBHOOK_NETWORKS", "127.0.0.1")
    get_settings.cache_clear()
    return get_settings()


def make(client: TestClient, **more: Any) -> dict[str, Any]:
    response = client.post("/v1/webhooks", json={"url": URL, "event_types": ["job.failed", "job.queued"]} | more)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def log(client: TestClient, webhook: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/v1/webhooks/{webhook['id']}/deliveries", params=params).json()["data"]
    return found


def test_secret_is_shown_once(client: TestClient) -> None:
    made = make(client, description="the chat")
    assert made["secret"].startswith("whsec_")
    shown = client.get(f"/v1/webhooks/{made['id']}").json()
    assert "secret" not in shown and shown == {name: value for name, value in made.items() if name != "secret"}
    assert client.get("/v1/webhooks").json()["data"] == [shown]
    assert shown["event_types"] == ["job.failed", "job.queued"] and shown["enabled"] is True
    assert (shown["disabled_reason"], shown["failing_since"], shown["previous_secret_until"]) == (None, None, None)


def test_change_needs_the_present_etag(client: TestClient) -> None:
    made = make(client)
    path = f"/v1/webhooks/{made['id']}"
    changed = client.patch(path, json={"enabled": False}, headers={"If-Match": f'"{made["etag"]}"'})
    assert changed.json()["enabled"] is False and changed.headers["etag"] != f'"{made["etag"]}"'
    stale = {"If-Match": f'"{made["etag"]}"'}
    problem(client.patch(path, json={"description": "x"}, headers=stale), 412, "precondition_failed")
    problem(client.delete(path, headers=stale), 412, "precondition_failed")
    assert client.patch(path, json={"description": None}).json()["description"] == ""
    assert problem(client.patch(path, json={"url": None}), 422, "invalid_request")["param"] == "url"
    assert client.delete(path).status_code == 204
    problem(client.get(path), 404, "not_found")


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:169.254.169.254]", "2852039166", "10.0.0.1", "[::1]"])
def test_private_address_is_refused_when_saved(client: TestClient, host: str) -> None:
    body = {"url": f"https://{host}/latest/meta-data", "event_types": ["job.failed"]}
    document = problem(client.post("/v1/webhooks", json=body), 422, "webhook_refused")
    assert document["param"] == "url" and "PROXIMAL_WEBHOOK_NETWORKS" in document["detail"]
    made = make(client)
    problem(client.patch(f"/v1/webhooks/{made['id']}", json={"url": body["url"]}), 422, "webhook_refused")


def test_name_of_a_private_address_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        resolving(patch, ["169.254.169.254"])
        body = {"url": "https://metadata.example/", "event_types": ["job.failed"]}
        response = client.post("/v1/webhooks", json=body)
    problem(response, 422, "webhook_refused")


def test_unknown_event_type_is_refused(client: TestClient) -> None:
    body = {"url": URL, "event_types": ["job.exploded"]}
    problem(client.post("/v1/webhooks", json=body), 422, "invalid_request")
    problem(client.post("/v1/webhooks", json={"url": URL, "event_types": []}), 422, "invalid_request")


def test_rotation_overlaps(client: TestClient, session: Session) -> None:
    made = make(client)
    rotated = client.post(f"/v1/webhooks/{made['id']}/rotate").json()
    row = session.get_one(Webhook, made["id"])
    assert rotated["secret"] == row.secret != made["secret"] == row.previous_secret
    assert rotated["previous_secret_until"] is not None
    at_once = client.post(f"/v1/webhooks/{made['id']}/rotate", json={"overlap_hours": 0}).json()
    assert at_once["previous_secret_until"] is None


def test_log_has_each_try_and_replays(client: TestClient, session: Session, owner: Key, settings: Settings) -> None:
    made = make(client)
    make_job(session, owner[0].owner_id)
    (waiting,) = log(client, made)
    assert (waiting["status"], waiting["event_type"], waiting["tries"]) == ("pending", "job.queued", [])
    (claimed,) = deliveries.claim(session, settings, 1)
    deliveries.finish(session, settings, claimed, Outcome("The receiver returned 410 Gone.", 12, 410, "bye"))
    session.commit()
    assert log(client, made, status="pending") == []
    (failed,) = log(client, made, status="failed")
    (only,) = failed["tries"]
    assert (only["number"], only["duration_ms"], only["response_status"], only["response_body"], only["error"]) == (
        1,
        12,
        410,
        "bye",
        "The receiver returned 410 Gone.",
    )
    assert failed["next_try_at"] is None and failed["finished_at"] is not None
    disabled = client.get(f"/v1/webhooks/{made['id']}").json()
    assert not disabled["enabled"] and "410 Gone" in disabled["disabled_reason"]
    again = client.post(f"/v1/webhooks/{made['id']}/deliveries/{failed['id']}/replay").json()
    assert (again["id"], again["status"], again["body"]) == (failed["id"], "pending", failed["body"])
    problem(client.post(f"/v1/webhooks/{made['id']}/deliveries/msg_x/replay"), 404, "not_found")


def test_log_has_pages(client: TestClient, session: Session, owner: Key) -> None:
    made = make(client)
    for _ in range(3):
        make_job(session, owner[0].owner_id)
    path = f"/v1/webhooks/{made['id']}/deliveries"
    first = client.get(path, params={"limit": 2}).json()
    rest = client.get(path, params={"limit": 2, "after": first["last_id"]}).json()
    assert first["has_more"] and not rest["has_more"]
    assert len({one["id"] for one in first["data"] + rest["data"]}) == 3


def test_test_event_goes_to_a_disabled_webhook(client: TestClient, session: Session, settings: Settings) -> None:
    made = make(client, enabled=False)
    sent = client.post(f"/v1/webhooks/{made['id']}/test")
    assert sent.status_code == 201 and sent.json()["event_type"] == "webhook.test"
    assert [one.delivery_id for one in deliveries.claim(session, settings, 5)] == [sent.json()["id"]]


def test_other_project_s_webhook_is_404(client: TestClient, app: FastAPI, session: Session) -> None:
    made = make(client)
    delivery = client.post(f"/v1/webhooks/{made['id']}/test").json()["id"]
    _, text = keys.create_key(session, "elsewhere")
    session.commit()
    stranger = signed_in(client, text)
    path = f"/v1/webhooks/{made['id']}"
    assert stranger.get("/v1/webhooks").json()["data"] == []
    for response in (
        stranger.get(path),
        stranger.patch(path, json={"enabled": False}),
        stranger.delete(path),
        stranger.post(f"{path}/rotate"),
        stranger.post(f"{path}/test"),
        stranger.get(f"{path}/deliveries"),
        stranger.post(f"{path}/deliveries/{delivery}/replay"),
    ):
        problem(response, 404, "not_found")
    own = make(stranger)
    problem(stranger.post(f"/v1/webhooks/{own['id']}/deliveries/{delivery}/replay"), 404, "not_found")
    assert session.get(WebhookDelivery, delivery) is not None


def test_members_read_and_admins_manage(client: TestClient) -> None:
    made = make(client)
    member = signed_in(client, join(client, "member")["key"]["text"])
    assert member.get(f"/v1/webhooks/{made['id']}/deliveries").is_success
    problem(member.post("/v1/webhooks", json={"url": URL, "event_types": ["job.failed"]}), 403, "not_allowed")
    problem(signed_in(client, join(client, "viewer")["key"]["text"]).get("/v1/webhooks"), 403, "not_allowed")


def test_path_of_an_address_is_shown_to_admins_only(client: TestClient) -> None:
    """The path of a chat's address is its password."""
    made = make(client, url="http://127.0.0.1:9/services/T0/secret?token=s")
    member = signed_in(client, join(client, "member")["key"]["text"])
    assert member.get(f"/v1/webhooks/{made['id']}").json()["url"] == "http://127.0.0.1/…"
    (listed,) = member.get("/v1/webhooks").json()["data"]
    assert listed["url"] == "http://127.0.0.1/…"
    assert client.get(f"/v1/webhooks/{made['id']}").json()["url"].endswith("/services/T0/secret?token=s")


def test_every_event_type_is_offered(client: TestClient) -> None:
    assert make(client, event_types=list(EventType))["event_types"] == sorted(EventType)
