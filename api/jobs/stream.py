"""The event stream of one job, read from the table by a cursor.

No connection is held between two looks, so a thousand open pages cost the database a short query each now and then; and
since the cursor is all the state there is, any process can go on where another stopped.
"""

import logging
import time
from collections.abc import AsyncIterator, Callable

import anyio
from starlette.concurrency import run_in_threadpool

from api.jobs.event_schemas import JobEvent
from api.problems import DATABASE_AWAY
from core.db import session_scope
from core.jobs import events
from core.models import Job
from core.models.jobs import TERMINAL
from core.settings import Settings

BATCH = 200
KEEP_ALIVE_SECONDS = 15.0
RETRY_MS = 2000
log = logging.getLogger(__name__)


class Stream:
    """`seen`: the last event that the client has. `closing`: asks whether the server is about to stop."""

    def __init__(self, settings: Settings, job_id: str, seen: int, closing: Callable[[], bool]) -> None:
        self._settings, self._job_id, self._seen, self._closing = settings, job_id, seen, closing

    async def body(self) -> AsyncIterator[str]:
        """Ends when the job has ended, at the connection's greatest age, or with the server; the client then comes back."""
        began = spoke = time.monotonic()
        yield f"retry: {RETRY_MS}\n\n"
        while not self._closing() and time.monotonic() - began < self._settings.stream_seconds:
            try:
                news, ended = await run_in_threadpool(self._look)
            except DATABASE_AWAY as error:
                # Too late for a 503. The client comes back by itself, and is then told.
                log.warning("the stream of %s ends early, the database does not answer: %s", self._job_id, error)
                return
            for event in news:
                self._seen = event.seq
                yield f"id: {event.seq}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n"
            if ended:
                yield "event: done\ndata: {}\n\n"
                return
            now = time.monotonic()
            if news:
                spoke = now
            elif now - spoke >= KEEP_ALIVE_SECONDS:
                spoke = now
                yield ": keep-alive\n\n"
            if len(news) < BATCH:
                await anyio.sleep(self._settings.stream_poll_seconds)

    def _look(self) -> tuple[list[JobEvent], bool]:
        """What is new, and whether that was all there will ever be."""
        with session_scope(self._settings.database_url) as session:
            rows = events.after(session, self._job_id, self._seen, BATCH)
            job = session.get(Job, self._job_id)
        if job is None:
            return [], True
        last = rows[-1].seq if rows else self._seen
        return [JobEvent.model_validate(row) for row in rows], job.status in TERMINAL and last >= job.last_seq
