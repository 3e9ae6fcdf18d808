"""Notices of new events over a real Redis."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis
from sqlalchemy.orm import Session

from core import live
from core.db import session_scope
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.run.events import append_events
from core.models import Job
from core.settings import Settings
from tests.core.factories import make_job, running, step
from tests.waiting import eventually


@pytest.fixture
def notices(settings: Settings) -> Iterator[Any]:
    """Returns the notices that were published since the last call."""
    live.publisher_for.cache_clear()
    with Redis.from_url(settings.redis_url) as client, client.pubsub() as pubsub:
        pubsub.subscribe(live.CHANNEL)
        eventually(pubsub.get_message)

        def read() -> list[dict[str, int]]:
            client.publish(live.CHANNEL, "{}")  # messages of a channel arrive in order, so this one is the last
            found: list[dict[str, int]] = []
            while (message := pubsub.get_message(timeout=5)) and (notice := json.loads(message["data"])):
                found.append(notice)
            return found

        yield read


def test_commit_publishes_one_notice_for_all_jobs(session: Session, notices: Any) -> None:
    job, other = make_job(session), make_job(session)
    notices()
    with session_scope() as transaction:
        for id_ in (job.id, other.id):
            request(transaction, transaction.get_one(Job, id_), Request.CANCEL, PLATFORM)
    assert notices() == [{job.id: 2, other.id: 2}]


def test_trainers_events_are_announced_by_their_last_number(session: Session, notices: Any) -> None:
    job = make_job(session)
    running(session, job)
    notices()
    with session_scope() as transaction:
        last = append_events(transaction, job.id, 1, [step(1), step(2)])
    assert notices() == [{job.id: last}]


def test_rollback_publishes_nothing(session: Session, notices: Any) -> None:
    job = make_job(session)
    with pytest.raises(ZeroDivisionError), session_scope() as transaction:
        request(transaction, transaction.get_one(Job, job.id), Request.CANCEL, PLATFORM)
        raise ZeroDivisionError
    assert notices() == []


def test_publisher_pauses_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """The server accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        publisher = live.Publisher(f"redis://127.0.0.1:{server.getsockname()[1]}/0")
        for _ in range(3):
            publisher.publish(live.CHANNEL, b"")
        server.setblocking(False)
        server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()
    (record,) = caplog.records
    assert "streams are polled meanwhile" in record.getMessage()


def test_publisher_resumes_after_a_restart_of_redis(notices: Any, settings: Settings) -> None:
    publisher = live.Publisher(settings.redis_url)
    publisher.publish(live.CHANNEL, b'{"job_1": 1}')
    with Redis.from_url(settings.redis_url) as client:
        client.client_kill_filter(_type="normal", skipme=True)
    publisher.publish(live.CHANNEL, b'{"job_1": 2}')
    assert notices() == [{"job_1": 1}, {"job_1": 2}]
