"""The sender of webhooks against a real receiver."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.models import Webhook, WebhookDelivery, WebhookTry
from core.settings import Settings, get_settings
from core.webhooks.deliveries import Claim
from core.webhooks.event_types import EventType
from tests.core.factories import make_job, make_key
from tests.core.webhooks.test_receivers import resolving
from tests.waiting import eventually
from tests.worker.webhooks.receiver import Receiver, add_webhook, receiving
from worker import webhooks as sender

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PROXIMAL_WEBHOOK_NETWORKS", "127.0.0.1")
    monkeypatch.setenv("PROXIMAL_WEBHOOK_SECONDS", "1")
    get_settings.cache_clear()
    return get_settings()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def claim_for(url: str) -> Claim:
    return Claim("msg_1", "whk_1", 1, url, '{"type":"webhook.test"}', [SECRET])


def test_job_s_events_arrive_signed_and_in_order(session: Session, settings: Settings, receiver: Receiver) -> None:
    owner = make_key(session).owner_id
    states = (EventType.JOB_QUEUED, EventType.JOB_PAUSED, EventType.JOB_CANCELLED)
    webhook = add_webhook(session, settings, owner, receiver.url, *states)
    job = make_job(session, owner)
    request(session, job, Request.PAUSE, PLATFORM)
    request(session, job, Request.CANCEL, PLATFORM)
    session.commit()
    with sender.sending(settings):
        eventually(lambda: len(receiver.accepted) == 3)
        eventually(lambda: session.rollback() or _pending(session) == 0)
    assert [one.payload["type"] for one in receiver.arrivals] == ["job.queued", "job.paused", "job.cancelled"]
    for one in receiver.arrivals:
        assert one.signed_by(webhook.secret) and one.path == "/hook?from=proximal"
        assert one.headers["content-type"] == "application/json"
        assert abs(int(one.headers["webhook-timestamp"]) - time.time()) < 100
        assert one.payload["data"]["id"] == job.id
    assert len({one.id for one in receiver.arrivals}) == 3
    tries = session.scalars(select(WebhookTry)).all()
    assert {(one.response_status, one.response_body, one.error) for one in tries} == {(200, "ok", None)}


def _pending(session: Session) -> int:
    return len(session.scalars(select(WebhookDelivery).filter_by(status="pending")).all())


def test_response_is_cut_at_a_kilobyte(settings: Settings, receiver: Receiver) -> None:
    receiver.answer = lambda _: (500, {"Retry-After": "77"}, b"x" * 5000)
    outcome = sender.send(claim_for(receiver.url), settings)
    assert outcome.error == "The receiver returned 500 Internal Server Error."
    assert (outcome.response_status, outcome.response_body, outcome.retry_after) == (500, "x" * 1024, 77.0)


def test_redirect_is_a_failure(settings: Settings, receiver: Receiver) -> None:
    receiver.answer = lambda _: (307, {"Location": receiver.url}, b"")
    outcome = sender.send(claim_for(receiver.url), settings)
    assert outcome.error is not None and "Redirects are not followed" in outcome.error
    assert len(receiver.arrivals) == 1


def test_slow_receiver_runs_out_of_time(settings: Settings) -> None:
    """Each byte comes within the timeout of the socket, and the whole response does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while True:
                    connection.sendall(b"H")
                    time.sleep(0.05)

        thread = Thread(target=trickle)
        thread.start()
        began = time.monotonic()
        outcome = sender.send(claim_for(f"http://127.0.0.1:{server.getsockname()[1]}/"), settings)
        assert outcome.error == "The receiver cannot be reached: no whole response within 1 s."
        assert time.monotonic() - began < 20
        thread.join()


def test_no_receiver_is_a_failure(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    outcome = sender.send(claim_for(f"http://127.0.0.1:{port}/"), settings)
    assert outcome.error is not None and "cannot be reached" in outcome.error and outcome.response_status is None


def test_retry_after_may_be_a_date() -> None:
    assert sender._retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert sender._retry_after("Fri, 31 Dec 2199 23:59:59 GMT") > 1e9
    assert sender._retry_after("soon") is None and sender._retry_after(None) is None


def test_rebinding_name_is_refused_when_sent(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was public when the webhook was saved leads to a private address now. Nothing connects to it."""
    resolving(monkeypatch, ["169.254.169.254"])
    outcome = sender.send(claim_for("https://rebinding.example/"), settings)
    assert outcome.error is not None and "private network" in outcome.error and outcome.response_status is None


def test_name_is_looked_up_once_for_a_connection(
    settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check and the connection use the same answer: a resolver that changes its mind gains nothing."""
    real = socket.create_connection
    connected: list[str] = []

    def connect(address: tuple[str, int], *rest: object) -> socket.socket:
        connected.append(address[0])
        return real(address, *rest)

    monkeypatch.setattr("core.access.pinned.socket.create_connection", connect)
    port = receiver.url.split(":")[2].split("/")[0]
    with monkeypatch.context() as patch:
        looked_up: list[str] = []

        def getaddrinfo(host: str, at: int, *_: object, **__: object) -> list[tuple[object, ...]]:
            if host != "rebinding.example":  # the connection's own call, with an address
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, at))]
            looked_up.append(host)
            address = "127.0.0.1" if len(looked_up) == 1 else "169.254.169.254"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, at))]

        patch.setattr("core.access.pinned.socket.getaddrinfo", getaddrinfo)
        outcome = sender.send(claim_for(f"http://rebinding.example:{port}/"), settings)
    assert outcome.error is None and connected == ["127.0.0.1"] and looked_up == ["rebinding.example"]
    assert receiver.arrivals[0].headers["host"] == f"rebinding.example:{port}"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_failed_sender_ends_the_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr("worker.webhooks.os.kill", lambda pid, _: killed.append(pid))
    monkeypatch.setattr("worker.webhooks.deliveries.claim", lambda *_: 1 / 0)
    with sender.sending(settings):
        eventually(lambda: len(killed) == 1)


def test_deleted_webhook_ends_its_deliveries(session: Session, settings: Settings, receiver: Receiver) -> None:
    owner = make_key(session).owner_id
    webhook = add_webhook(session, settings, owner, receiver.url)
    make_job(session, owner)
    session.delete(session.get_one(Webhook, webhook.id))
    session.commit()
    assert _pending(session) == 0
