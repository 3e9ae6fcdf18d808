"""One client of the event streams: its cursors, and the response that sends the events after them."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.live.tail import News, Tail
from api.problems import DATABASE_AWAY
from core.access.keys import Principal

ABORT = "proximal.abort"
"""ASGI extension of our server. Its `abort` closes the connection and discards the data that was not sent."""
DONE = ":done"
"""Follows the cursor of a job whose `done` was sent."""
RETRY_MS = 2000
KEEP_ALIVE_SECONDS = 5.0
"""Seconds of silence after which a comment is sent. The dashboard takes 12 s of silence for a lost connection."""
SLOW_SECONDS = 10.0
"""Time that a client may take to accept a chunk. Then its connection is closed."""
_CHUNK_BYTES = 64 * 1024
log = logging.getLogger(__name__)


class Tails(Protocol):
    """The part of the hub that a stream uses."""

    def admit(self, stream: "Stream", ends: Mapping[str, int]) -> AbstractContextManager[None]:
        """While entered, the hub watches the stream's jobs. `ends`: the number of the last event of each job."""

    def tail(self, job_id: str) -> Tail:
        """The tail of a watched job."""

    async def catch_up(self, job_id: str, seq: int) -> News:
        """Events after number `seq` from the database."""


class Stream:
    """The state of one open connection: the number of the last sent event of each job.

    It holds no events, so a client that reads slowly occupies little memory. The events that it misses are read from the
    job's tail or from the database. `several`: the ids of the messages contain the cursors of all jobs.
    """

    def __init__(
        self,
        caller: Principal,
        cursors: Mapping[str, int],
        seconds: float,
        several: bool = False,
        done: Collection[str] = (),
    ) -> None:
        """`done`: jobs that have ended, and whose `done` the client has received."""
        self.owner_id, self.credential = caller.owner_id, caller.credential
        self.cursors = dict(cursors)
        self.watched = set(cursors) - set(done)
        """The jobs whose `done` was not sent yet."""
        now = time.monotonic()
        self._sent_at = now
        self._sending_since: float | None = None
        # Streams that were opened together do not end together.
        self._expires_at = now + random.uniform(0.9, 1.0) * seconds
        self._several = several
        self._fresh = set(self.watched)
        self._ending = False
        self._wake = asyncio.Event()
        self._scope: anyio.CancelScope | None = None

    def notify(self, job_id: str) -> None:
        """The job's tail has changed."""
        if job_id in self.watched:
            self._fresh.add(job_id)
            self._wake.set()

    def end(self) -> None:
        """End the response. A client that has time left connects again and continues at its cursors."""
        self._ending = True
        self._wake.set()
        if self._sending_since is not None and self._scope is not None:
            self._scope.cancel()

    def tend(self, now: float) -> None:
        """Called every second: end a stream that is too old or too slow, and wake an idle one."""
        slow = self._sending_since is not None and now - self._sending_since > SLOW_SECONDS
        if slow or now >= self._expires_at:
            self.end()
        elif self._is_idle(now):
            self._wake.set()

    def _is_idle(self, now: float) -> bool:
        return now - self._sent_at >= KEEP_ALIVE_SECONDS

    async def run(self, hub: Tails, receive: Receive, send: Send) -> bool:
        """Send the messages until the end. Returns False if the response is incomplete."""
        complete = False
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            tasks.start_soon(_until_disconnected, receive, tasks.cancel_scope)
            async for chunk in self._chunks(hub):
                self._sending_since = time.monotonic()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                self._sent_at, self._sending_since = time.monotonic(), None
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            complete = True
            tasks.cancel_scope.cancel()
        return complete

    async def _chunks(self, hub: Tails) -> AsyncIterator[bytes]:
        yield f"retry: {RETRY_MS}\n\n".encode()
        while self.watched and not self._ending:
            if self._fresh:
                job_id = self._fresh.pop()
                try:
                    news = await self._news(hub, job_id)
                except DATABASE_AWAY as error:
                    # The response has begun, so it cannot be a 503. The client connects again and gets the error then.
                    log.warning("the stream of %s ends early, the database does not respond: %s", job_id, error)
                    return
                for chunk in self._messages(job_id, news):
                    yield chunk
            elif self._is_idle(time.monotonic()):
                yield b": keep-alive\n\n"
            else:
                await self._wake.wait()
                self._wake.clear()

    async def _news(self, hub: Tails, job_id: str) -> News:
        tail, seq = hub.tail(job_id), self.cursors[job_id]
        if seq >= tail.floor:
            return tail.news_after(seq)
        self._fresh.add(job_id)  # there may be more
        news = await hub.catch_up(job_id, seq)
        if not news.frames:
            self.cursors[job_id] = tail.floor
        return news

    def _messages(self, job_id: str, news: News) -> Iterator[bytes]:
        """The messages in chunks of at least 64 KiB, the last of which may be smaller."""
        parts: list[bytes] = []
        size = 0
        for frame in news.frames:
            self.cursors[job_id] = frame.seq
            parts += (f"id: {self._id(frame.seq)}\n".encode(), frame.body)
            size += len(frame.body)
            if size >= _CHUNK_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
        if news.ended:
            self.watched.discard(job_id)
            self._fresh.discard(job_id)
            parts.append(self._done(job_id))
        if parts:
            yield b"".join(parts)

    def _done(self, job_id: str) -> bytes:
        """The message after the last event. With several jobs, its id marks the job, so that no reconnection repeats it."""
        if self._several:
            return f'id: {self._id(0)}\nevent: done\ndata: {{"job_id":"{job_id}"}}\n\n'.encode()
        return b"event: done\ndata: {}\n\n"

    def _id(self, seq: int) -> str:
        if not self._several:
            return str(seq)
        cursors = self.cursors.items()
        return ",".join(f"{job_id}:{last}{'' if job_id in self.watched else DONE}" for job_id, last in cursors)


async def _until_disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class EventStreamResponse(Response):
    """Sends a stream as server-sent events. It is sent as it is: no compression, and no buffer in a proxy."""

    media_type = "text/event-stream"

    def __init__(self, hub: Tails, stream: Stream, ends: Mapping[str, int]) -> None:
        self._hub, self._stream, self._ends = hub, stream, ends
        super().__init__(headers={"X-Accel-Buffering": "no", "Cache-Control": "no-store"})
        del self.headers["Content-Length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._hub.admit(self._stream, self._ends):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            complete = await self._stream.run(self._hub, receive, send)
        if not complete and (extension := scope.get("extensions", {}).get(ABORT)):
            extension["abort"]()
            await asyncio.sleep(0)  # the server notes the loss, so it reports no incomplete response
