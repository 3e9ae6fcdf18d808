"""The event stream, over real connections to a real server."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import pytest
import uvicorn
from sqlalchemy import text
from sqlalchemy.orm import Session

from api.__main__ import Server
from api.app import create_app
from api.jobs.events import Stream
from core.jobs import attempts
from core.jobs.events import append_events
from core.models import ApiKey, Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.api.problem_checks import problem
from tests.core.factories import make_job, running, step
from tests.waiting import eventually

Served = Callable[[], AbstractContextManager[httpx.Client]]


@pytest.fixture
def serve(settings: Settings, owner: tuple[ApiKey, str]) -> Served:
    """Starts the API on a port of its own; stops it when the block ends."""
    quick = settings.model_copy(update={"stream_poll_seconds": 0.05})

    @contextmanager
    def serve() -> Iterator[httpx.Client]:
        app = create_app(quick)
        server = Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=30), app)
        thread = threading.Thread(target=server.run)
        thread.start()
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        headers = {"Authorization": f"Bearer {owner[1]}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=10) as client:
            try:
                yield client
            finally:
                server.handle_exit(2, None)
                thread.join(10)
                assert not thread.is_alive()

    return serve


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    made = make_job(session, owner[0].id)
    running(session, made)
    return made


@dataclass
class Message:
    id: int | None
    event: str
    data: dict[str, object]


def _messages(response: httpx.Response) -> Iterator[Message]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Message(number, fields["event"], json.loads(fields["data"]))
            fields = {}


def _finish(session: Session, job: Job) -> None:
    attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
    session.commit()


def _say(session: Session, job: Job, *numbers: int) -> None:
    append_events(session, job.id, 1, [step(number) for number in numbers])
    session.commit()


def test_stream_sends_every_event_once_then_ends(serve: Served, session: Session, job: Job) -> None:
    with serve() as client:
        with client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            messages = _messages(response)
            assert [next(messages).id for _ in range(job.last_seq)] == list(range(1, job.last_seq + 1))
            _say(session, job, 1)
            live = next(messages)
            assert (live.event, live.data["step"]) == ("metrics", 1)
            _finish(session, job)
            *rest, done = messages
        assert [message.event for message in rest] == ["status_changed"] and done.event == "done"
        listed = client.get(f"/v1/jobs/{job.id}/events?after={live.id}").json()["data"]
        assert [message.data for message in rest] == listed
        again = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": str(rest[-1].id)})
        assert (again.status_code, again.content) == (204, b"")


@pytest.mark.parametrize("how", ["header", "query"])
def test_stream_resumes_after_the_last_event_id(serve: Served, session: Session, job: Job, how: str) -> None:
    _say(session, job, 1, 2, 3)
    _finish(session, job)
    seen = job.last_seq - 3
    asked = {"headers": {"Last-Event-ID": str(seen)}} if how == "header" else {"params": {"after": str(seen)}}
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream", **asked) as response:
        assert [message.id for message in _messages(response)] == [seen + 1, seen + 2, seen + 3, None]


def test_a_restart_of_the_api_loses_and_repeats_nothing(serve: Served, session: Session, job: Job) -> None:
    seen: list[int] = []
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
        messages = _messages(response)
        seen += [next(messages).id or 0 for _ in range(job.last_seq)]
    _say(session, job, 1, 2)
    with serve() as client:
        last = {"Last-Event-ID": str(seen[-1])}
        with client.stream("GET", f"/v1/jobs/{job.id}/stream", headers=last) as response:
            messages = _messages(response)
            seen += [next(messages).id or 0 for _ in range(2)]
            _finish(session, job)
            seen += [message.id for message in messages if message.id]
    assert seen == list(range(1, job.last_seq + 1))


def test_server_stop_does_not_wait_for_open_streams(serve: Served, job: Job) -> None:
    with ExitStack() as streams, serve() as client:
        response = streams.enter_context(client.stream("GET", f"/v1/jobs/{job.id}/stream"))
        messages = _messages(response)  # kept: a generator that is let go closes its connection
        assert next(messages).id == 1
        began = time.monotonic()  # the stream is still open when `serve` stops the server
    assert time.monotonic() - began < 5


def test_a_stream_between_two_looks_holds_no_connection(serve: Served, session: Session, job: Job) -> None:
    open_now = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    )
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream") as response:
        messages = _messages(response)
        assert next(messages).id == 1
        session.commit()
        # Our own session is the one that asks, so it is active, not idle.
        eventually(lambda: session.execute(open_now).scalar_one() == 0)
        _say(session, job, 1)
        assert [next(messages).id for _ in range(job.last_seq - 1)][-1] == job.last_seq  # it was open all the while


def test_a_stream_of_a_great_age_ends_without_done(settings: Settings, job: Job) -> None:
    brief = settings.model_copy(update={"stream_poll_seconds": 0.05, "stream_seconds": 0.2})

    async def collect() -> str:
        return "".join([part async for part in Stream(brief, job.id, 0, lambda: False).body()])

    told = asyncio.run(collect())
    assert told.startswith("retry: 2000") and "id: 1\n" in told and "event: done" not in told


def test_stream_ends_without_error_if_the_database_is_lost(
    settings: Settings, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    away = settings.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"})

    async def collect() -> list[str]:
        return [part async for part in Stream(away, job.id, 0, lambda: False).body()]

    assert asyncio.run(collect()) == ["retry: 2000\n\n"]
    (record,) = caplog.records
    assert "the database does not respond" in record.getMessage() and record.exc_info is None


def test_stream_without_events_sends_heartbeats(settings: Settings, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.events.KEEP_ALIVE_SECONDS", 0.1)
    brief = settings.model_copy(update={"stream_poll_seconds": 0.05, "stream_seconds": 0.4})

    async def collect() -> list[str]:
        return [part async for part in Stream(brief, job.id, job.last_seq, lambda: False).body()]

    assert ": keep-alive\n\n" in asyncio.run(collect())


def test_an_empty_cursor_is_none_at_all(serve: Served, session: Session, job: Job) -> None:
    _finish(session, job)
    with serve() as client:
        response = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": ""})
    assert [message.id for message in _messages(response)] == [*range(1, job.last_seq + 1), None]


def test_stream_cursor_beyond_the_end_gets_the_next_events(serve: Served, session: Session, job: Job) -> None:
    beyond = {"Last-Event-ID": str(job.last_seq + 50)}
    with serve() as client, client.stream("GET", f"/v1/jobs/{job.id}/stream", headers=beyond) as response:
        _say(session, job, 1)
        assert next(_messages(response)).id == job.last_seq


@pytest.mark.parametrize("wrong", ["x", "-1", "1.5", "9" * 40, "²"])
def test_a_cursor_that_is_no_number(client: httpx.Client, job: Job, wrong: str) -> None:
    response = client.get(f"/v1/jobs/{job.id}/stream", headers={"Last-Event-ID": wrong.encode()})
    assert problem(response, 422, "invalid_request")["param"] == "Last-Event-ID"
