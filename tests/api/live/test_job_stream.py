"""The event stream of one job."""

import asyncio
import json
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.live.hub import Hub
from api.live.stream import Stream
from core.access.keys import Principal
from core.models import ApiKey, Job, Role
from core.settings import Settings, get_settings
from tests.api.compatibility import committed
from tests.api.live.conftest import Message, Serve, finish, messages, report
from tests.api.problem_checks import problem
from tests.waiting import eventually


def test_stream_sends_every_event_once_then_ends(serve: Serve, job: Job) -> None:
    with serve() as client:
        with client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            received = messages(response)
            assert [next(received).seq for _ in range(job.last_seq)] == list(range(1, job.last_seq + 1))
            report(job, 1)
            live = next(received)
            assert (live.event, live.data["step"], live.data["job_id"]) == ("metrics", 1, job.id)
            finish(job)
            *rest, done = received
        assert [message.event for message in rest] == ["status_changed"]
        assert (done.event, done.id, done.data) == ("done", None, {})
        assert all(_documented(message, "/v1/jobs/{job_id}/stream") for message in (live, *rest, done))
        listed = client.get(f"/v1/jobs/{job.id}/events?after={live.seq}").json()["data"]
        assert [message.data for message in rest] == listed
        again = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": str(rest[-1].id)})
        assert (again.status_code, again.content) == (204, b"")


def _documented(message: Message, path: str) -> bool:
    """Whether an alternative of the `itemSchema` of the stream describes the message and its data."""
    schema = committed()
    content = schema["paths"][path]["get"]["responses"]["200"]["content"]["text/event-stream"]
    fields = {"event": message.event, "data": json.dumps(message.data)}
    fields |= {} if message.id is None else {"id": message.id}
    return any(
        Draft202012Validator(one | {"components": schema["components"]}).is_valid(fields)
        and Draft202012Validator(
            one["properties"]["data"]["contentSchema"] | {"components": schema["components"]}
        ).is_valid(message.data)
        for one in content["itemSchema"]["anyOf"]
    )


@pytest.mark.parametrize("how", ["header", "query"])
def test_stream_resumes_after_the_last_event_id(serve: Serve, job: Job, how: str) -> None:
    seen = report(job, 1, 2, 3) - 3
    finish(job)
    asked = {"headers": {"Last-Event-ID": str(seen)}} if how == "header" else {"params": {"after": str(seen)}}
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream", **asked) as response:
        assert [message.seq for message in messages(response)] == [seen + 1, seen + 2, seen + 3, seen + 4, None]


def test_stream_fills_a_gap_of_several_batches(serve: Serve, job: Job) -> None:
    last = report(job, *range(1, 451))
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
        received = messages(response)
        assert [next(received).seq for _ in range(last)] == list(range(1, last + 1))
        live = report(job, 451)
        assert next(received).seq == live


def test_a_restart_of_the_api_loses_and_repeats_nothing(serve: Serve, job: Job) -> None:
    seen: list[int | None] = []
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
        received = messages(response)
        seen += [next(received).seq for _ in range(job.last_seq)]
    last = report(job, 1, 2)
    with serve() as client:
        resume = {"Last-Event-ID": str(seen[-1])}
        with client.stream("GET", f"/v1/jobs/{job.id}/stream", headers=resume) as response:
            received = messages(response)
            seen += [next(received).seq for _ in range(2)]
            finish(job)
            seen += [message.seq for message in received if message.seq]
    assert seen == list(range(1, last + 2))


def test_server_stop_does_not_wait_for_open_streams(serve: Serve, job: Job) -> None:
    with ExitStack() as streams, serve() as client:
        response = streams.enter_context(client.stream("GET", f"/v1/jobs/{job.id}/stream"))
        received = messages(response)  # kept: a generator that is let go closes its connection
        assert next(received).seq == 1
        # The stream is still open when `serve` stops the server. It would stay so beyond the time limit of a test.
        assert get_settings().stream_seconds > 300


def test_an_idle_stream_holds_no_connection(serve: Serve, session: Session, job: Job) -> None:
    query = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'")

    def none_is_idle() -> bool:
        session.rollback()  # within a transaction, PostgreSQL returns the same figures again
        return session.execute(query).scalar_one() == 0  # this session runs the query, so it is active, not idle

    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
        received = messages(response)
        assert next(received).seq == 1
        eventually(none_is_idle)
        last = report(job, 1)
        assert [next(received).seq for _ in range(last - 1)][-1] == last  # it was open all the while


def test_an_old_stream_ends_without_done(serve: Serve, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.live.hub._TEND_SECONDS", 0.05)
    with serve(stream_seconds=0.2) as client:
        sent = client.get(f"/v1/jobs/{job.id}/stream").text
    assert sent.startswith("retry: 2000") and "id: 1\n" in sent and "event: done" not in sent


def test_an_idle_stream_sends_comments(serve: Serve, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.live.hub._TEND_SECONDS", 0.05)
    monkeypatch.setattr("api.live.stream.KEEP_ALIVE_SECONDS", 0.1)
    with serve(stream_seconds=1) as client:
        sent = client.get(f"/v1/jobs/{job.id}/stream", params={"after": job.last_seq}).text
    assert sent.startswith("retry: 2000\n\n: keep-alive\n\n")


def test_stream_ends_without_error_if_the_database_is_lost(
    settings: Settings, job: Job, owner: tuple[ApiKey, str], caplog: pytest.LogCaptureFixture
) -> None:
    hub = Hub(settings.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}))
    caller = Principal(
        owner[0].id, "tester", owner[0].owner_id, str(owner[0].user_id), "tester", Role.ADMIN, by_cookie=False
    )

    async def collect() -> list[Any]:
        sent: list[Any] = []
        stream = Stream(caller, {job.id: 0}, 60)

        async def keep(message: Any) -> None:
            sent.append(message["body"])

        with hub.admit(stream, {job.id: 5}):
            await stream.run(hub, asyncio.Event().wait, keep)
        return sent

    assert asyncio.run(collect()) == [b"retry: 2000\n\n", b""]
    ended = [record for record in caplog.records if "ends early, the database does not respond" in record.getMessage()]
    assert len(ended) == 1 and ended[0].exc_info is None


def test_an_empty_cursor_is_none_at_all(serve: Serve, job: Job) -> None:
    finish(job)
    with serve() as client:
        response = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": ""})
    assert [message.seq for message in messages(response)] == [*range(1, job.last_seq + 2), None]


def test_stream_cursor_beyond_the_end_gets_the_next_events(serve: Serve, job: Job) -> None:
    beyond = {"Last-Event-ID": str(job.last_seq + 50)}
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream", headers=beyond) as response:
        last = report(job, 1)
        assert next(messages(response)).seq == last


@pytest.mark.parametrize("wrong", ["x", "-1", "1.5", "9" * 40, "²"])
def test_a_cursor_that_is_no_number(client: httpx.Client, job: Job, wrong: str) -> None:
    response = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": wrong.encode()})
    assert problem(response, 422, "invalid_request")["param"] == "Last-Event-ID"
