"""Event streams over real connections to a real server."""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from api.server import Server
from core.db import session_scope
from core.jobs.lifecycle import attempts
from core.jobs.run.events import append_events
from core.models import ApiKey, Job
from core.models.jobs import JobStatus
from core.settings import Settings
from tests.api.serving import application
from tests.core.factories import make_job, running, step
from tests.waiting import eventually

Serve = Callable[..., AbstractContextManager[httpx.Client]]


@pytest.fixture
def serve(settings: Settings, owner: tuple[ApiKey, str]) -> Serve:
    """Starts the API on a port of its own, with changed settings; stops it when the block ends."""

    @contextmanager
    def serve(**changed: Any) -> Iterator[httpx.Client]:
        app = application(settings.model_copy(update={"stream_poll_seconds": 0.05} | changed))
        server = Server(app, app.state.settings, port=0, timeout_graceful_shutdown=30)
        thread = threading.Thread(target=server.run)
        thread.start()
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        headers = {"Authorization": f"Bearer {owner[1]}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=10) as client:
            client.hub = app.state.hub  # type: ignore[attr-defined]
            try:
                yield client
            finally:
                server.handle_exit(2, None)
                thread.join(10)
                assert not thread.is_alive()

    return serve


@pytest.fixture
def job(session: Session, owner: tuple[ApiKey, str]) -> Job:
    made = make_job(session, owner[0].owner_id)
    running(session, made)
    return made


@dataclass
class Message:
    id: str | None
    event: str
    data: dict[str, Any]

    @property
    def seq(self) -> int | None:
        """The number of an event of the stream of one job; None for `done`."""
        return None if self.id is None else int(self.id)


def messages(response: httpx.Response) -> Generator[Message, None, None]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Message(fields.get("id"), fields["event"], json.loads(fields["data"]))
            fields = {}


def report(job: Job, *numbers: int, **values: float) -> int:
    """Store steps of the trainer as the worker does. Returns the number of the last event."""
    with session_scope() as session:
        return append_events(session, job.id, 1, [step(number, **values) for number in numbers])


def finish(job: Job) -> None:
    with session_scope() as session:
        attempts.finish(session, job.id, 1, JobStatus.SUCCEEDED, "Done.")
