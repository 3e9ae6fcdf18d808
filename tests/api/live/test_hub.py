"""The hub: notices and polls, the number of queries, slow clients, and access."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from redis import Redis
from sqlalchemy import event, text, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from api.deps import COOKIE
from api.live.tail import read_news
from core.access import keys
from core.db import engine_for, session_scope
from core.jobs.run.events import append_events
from core.live import CHANNEL, announce_ended_access
from core.models import ApiKey, BrowserSession, Job
from core.settings import Settings
from tests.api.live.conftest import Serve, messages, report
from tests.core.factories import make_job, running, step
from tests.waiting import eventually
from trainer.events import Sample, Samples

NEVER = 10_000.0
"""An interval between polls that no test reaches."""


def _subscribed(settings: Settings) -> int:
    with Redis.from_url(settings.redis_url) as redis:
        return int(redis.pubsub_numsub(CHANNEL)[0][1])


@contextmanager
def _streams(client: httpx.Client, *jobs: Job) -> Iterator[list[Any]]:
    """An open stream of each job, from its end. The iterators of their messages."""
    with ExitStack() as stack:
        found = []
        for job in jobs:
            asked = {"params": {"after": job.last_seq}}
            found.append(messages(stack.enter_context(client.stream("GET", f"/v1/jobs/{job.id}/stream", **asked))))
            stack.callback(found[-1].close)
        yield found


def test_notices_of_redis_deliver_events_without_polls(serve: Serve, settings: Settings, job: Job) -> None:
    with serve(stream_poll_seconds=NEVER) as client, _streams(client, job) as (received,):
        eventually(lambda: _subscribed(settings) == 1)
        last = report(job, 1)
        assert next(received).seq == last


def test_polls_deliver_events_without_redis(serve: Serve, job: Job) -> None:
    with serve(redis_url="redis://127.0.0.1:1/0") as client, _streams(client, job) as (received,):
        last = report(job, 1)
        assert next(received).seq == last


def test_polls_deliver_events_whose_notice_was_lost(
    serve: Serve, settings: Settings, session: Session, job: Job
) -> None:
    with serve() as client, _streams(client, job) as (received,):
        eventually(lambda: _subscribed(settings) == 1)
        last = append_events(session, job.id, 1, [step(1)])
        session.commit()  # not by `session_scope`, so nothing is published
        assert next(received).seq == last


def test_subscription_is_renewed_after_it_broke(serve: Serve, settings: Settings, job: Job) -> None:
    with serve(stream_poll_seconds=NEVER) as client, _streams(client, job) as (received,):
        eventually(lambda: _subscribed(settings) == 1)
        with Redis.from_url(settings.redis_url) as redis:
            redis.client_kill_filter(_type="pubsub")
        missed = report(job, 1)
        assert next(received).seq == missed


def test_a_process_reads_an_event_once_for_all_clients(
    serve: Serve, settings: Settings, session: Session, job: Job, owner: tuple[ApiKey, str]
) -> None:
    other = make_job(session, owner[0].owner_id)
    running(session, other)
    reads: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if "watched" in statement:
            reads.append(statement)

    with serve(stream_poll_seconds=NEVER) as client, _streams(client, *[job, other] * 10) as received:
        eventually(lambda: _subscribed(settings) == 1)
        with session_scope() as transaction:  # one notice for both jobs
            append_events(transaction, job.id, 1, [step(1)])
            append_events(transaction, other.id, 1, [step(1)])
        assert {next(one).seq for one in received} == {job.last_seq + 1, other.last_seq + 1}
        event.listen(engine_for(settings.database_url), "before_cursor_execute", note)
        with session_scope() as transaction:
            append_events(transaction, job.id, 1, [step(2)])
            append_events(transaction, other.id, 1, [step(2)])
        assert {next(one).data["step"] for one in received} == {2}
        event.remove(engine_for(settings.database_url), "before_cursor_execute", note)
        assert len(reads) == 1
    eventually(lambda: _subscribed(settings) == 0)


def test_a_client_that_does_not_read_is_dropped_and_resumes(
    serve: Serve, job: Job, owner: tuple[ApiKey, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.hub._TEND_SECONDS", 0.05)
    monkeypatch.setattr("api.live.stream.SLOW_SECONDS", 0.2)
    long = Samples(stage="ppo", step=1, rows=[Sample(prompt="p" * 500_000, response="r", score=1.0)])
    with serve() as client, socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", client.base_url.port))
        request = (
            f"GET /v1/jobs/{job.id}/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {owner[1]}\r\n\r\n"
        )
        raw.sendall(request.encode())
        began = b""
        eventually(lambda: client.hub._streams)  # type: ignore[attr-defined]
        for _ in range(20):
            with session_scope() as session:
                last = append_events(session, job.id, 1, [long])
        eventually(lambda: not client.hub._streams)  # type: ignore[attr-defined]
        raw.settimeout(5)
        with suppress(ConnectionResetError):
            while chunk := raw.recv(65536):
                began += chunk
        cut = int(re.findall(rb"id: (\d+)\n", began)[-1])  # the last message may be incomplete
        assert not began.endswith(b"0\r\n\r\n") and cut < last
        with client.stream("GET", f"/v1/jobs/{job.id}/stream", params={"after": cut - 1}) as response:
            received = messages(response)
            assert [next(received).seq for _ in range(cut, last + 1)] == list(range(cut, last + 1))


@pytest.mark.parametrize("announced", [True, False])
def test_a_revoked_key_ends_its_streams(
    serve: Serve, job: Job, owner: tuple[ApiKey, str], announced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis announces the revocation. The hub also asks the database at intervals, here after an hour or 0.1 s."""
    monkeypatch.setattr("api.live.hub._ACCESS_SECONDS", 3600.0 if announced else 0.1)
    with serve() as client:
        with client.stream("GET", f"/v1/jobs/{job.id}/stream", params={"after": job.last_seq}) as response:
            with session_scope() as session:
                keys.revoke_key(session, owner[0].id)
                if announced:
                    announce_ended_access(session)
            assert list(messages(response)) == []
        assert client.get(f"/v1/jobs/{job.id}/stream").status_code == 401


@pytest.mark.parametrize("how", ["signed_out", "expired"])
def test_an_ended_browser_session_ends_its_streams_alone(
    serve: Serve, job: Job, owner: tuple[ApiKey, str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.hub._ACCESS_SECONDS", 0.1)
    with serve() as client:
        browser = httpx.Client(base_url=client.base_url, timeout=5)
        with browser, _streams(client, job) as (by_key,):
            assert browser.post("/v1/session", json={"token": owner[1]}, headers={"Origin": str(client.base_url)})
            assert COOKIE in browser.cookies
            with browser.stream("GET", f"/v1/jobs/{job.id}/stream", params={"after": job.last_seq}) as response:
                if how == "signed_out":
                    browser.delete("/v1/session", headers={"Origin": str(client.base_url).rstrip("/")})
                else:
                    with session_scope() as session:
                        past = datetime.now(UTC) - timedelta(seconds=1)
                        session.execute(update(BrowserSession).values(expires_at=past))
                assert list(messages(response)) == []
            last = report(job, 1)
            assert next(by_key).seq == last


def test_read_of_news_ends_at_the_statement_timeout(session: Session, settings: Settings, job: Job) -> None:
    session.execute(text("LOCK TABLE job_events IN ACCESS EXCLUSIVE MODE"))
    with pytest.raises(OperationalError, match="statement timeout"):
        read_news(settings.model_copy(update={"statement_seconds": 0.05}), {job.id: 0})
