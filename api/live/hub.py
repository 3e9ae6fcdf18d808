"""The hub of the event streams: reads the new events of all watched jobs, and wakes the streams that wait for them.

PostgreSQL stores the events. Notices from Redis only make the hub read at once. Without them it polls: all watched jobs in
one query, whatever the number of clients.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import anyio.to_thread

from api.live.bus import Subscription
from api.live.stream import Stream
from api.live.tail import BATCH, News, Tail, read_news
from api.problems import DATABASE_AWAY
from core.access.keys import valid_credentials
from core.db import request_scope
from core.errors import TooManyStreams
from core.live import Notice
from core.settings import Settings, get_settings

_RECONCILE_POLLS = 10
"""While notices arrive, the hub polls this many times less often, for notices that were lost."""
_CATCH_UP_THREADS = 4
_SLICE = 50
_LONGEST_REST = 0.25
_DATABASE_PAUSE = 1.0
_TEND_SECONDS = 1.0
_ACCESS_SECONDS = 2.0
log = logging.getLogger(__name__)


class Hub:
    """All event streams of one API process. Its tasks run in the event loop while at least one stream is open."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._given_settings = settings
        self._streams: set[Stream] = set()
        self._per_owner: Counter[str] = Counter()
        self._tails: dict[str, Tail] = {}
        self._watchers: dict[str, set[Stream]] = {}
        self._news: set[str] = set()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def _settings(self) -> Settings:
        return self._given_settings or get_settings()

    @contextmanager
    def admit(self, stream: Stream, ends: Mapping[str, int]) -> Iterator[None]:
        """While entered, the stream is notified of new events. Raises TooManyStreams.

        `ends`: the number of the last event of each job, where a new tail begins.
        """
        limit = self._settings.streams_per_owner
        if self._per_owner[stream.owner_id] >= limit:
            raise TooManyStreams(
                f"You have {limit} open event streams, which is the limit (PROXIMAL_STREAMS_PER_OWNER). Close one first."
            )
        self._start()
        self._streams.add(stream)
        self._per_owner[stream.owner_id] += 1
        for job_id in stream.cursors:
            self._watch(stream, job_id, ends[job_id])
        if self._closed:
            stream.end()
        try:
            yield
        finally:
            self._leave(stream)

    def tail(self, job_id: str) -> Tail:
        """The tail of a watched job."""
        return self._tails[job_id]

    async def catch_up(self, job_id: str, seq: int) -> News:
        """Events after number `seq` from the database. Few threads do this, so that other requests find a free one."""
        return (await self._read({job_id: seq}, self._catch_ups))[job_id]

    def close(self) -> None:
        """End all streams, because the server stops. Safe in a signal handler and in another thread."""
        self._closed = True
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._end_all)

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._wake, self._ended_access = asyncio.Event(), asyncio.Event()
            self._catch_ups, self._reader = anyio.CapacityLimiter(_CATCH_UP_THREADS), anyio.CapacityLimiter(1)
            self._access_reader = anyio.CapacityLimiter(1)
            self._bus = Subscription(
                self._settings.redis_url, self._receive, self._poll_now, on_ended_access=self._ended_access.set
            )
            self._task = asyncio.create_task(self._run())

    def _watch(self, stream: Stream, job_id: str, seq: int) -> None:
        """A new tail is read at once, because earlier notices about its job were ignored."""
        if job_id not in self._tails:
            self._tails[job_id] = Tail(seq)
            self._watchers[job_id] = set()
            self._note(job_id)
        self._watchers[job_id].add(stream)

    def _leave(self, stream: Stream) -> None:
        self._streams.discard(stream)
        self._per_owner[stream.owner_id] -= 1
        if not self._per_owner[stream.owner_id]:
            del self._per_owner[stream.owner_id]
        for job_id in stream.cursors:
            self._watchers[job_id].discard(stream)
            if not self._watchers[job_id]:
                del self._watchers[job_id], self._tails[job_id]
        if not self._streams and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._bus.run())
                tasks.create_task(self._follow())
                tasks.create_task(self._tend())
                tasks.create_task(self._check_access())
        except Exception:  # process boundary: the next stream starts the tasks again
            log.exception("the event streams end because of an error; their clients connect again")
            self._end_all()

    def _end_all(self) -> None:
        for stream in self._streams:
            stream.end()

    def _receive(self, notice: Notice) -> None:
        for job_id, seq in notice.items():
            tail = self._tails.get(job_id)
            if tail is not None and seq > tail.seq:
                self._note(job_id)

    def _poll_now(self) -> None:
        """Notices may have been lost while there was no subscription."""
        self._ended_access.set()
        for job_id in self._tails:
            self._note(job_id)

    def _note(self, job_id: str) -> None:
        self._news.add(job_id)
        self._wake.set()

    async def _follow(self) -> None:
        """Read new events as notices arrive, and poll for the others."""
        polled_at = time.monotonic()
        while True:
            interval = self._settings.stream_poll_seconds * (_RECONCILE_POLLS if self._bus.active else 1)
            try:
                async with asyncio.timeout(max(0.0, polled_at + interval - time.monotonic())):
                    await self._wake.wait()
            except TimeoutError:
                polled_at = time.monotonic()
                self._news.update(job_id for job_id, tail in self._tails.items() if not tail.ended)
            self._wake.clear()
            await self._advance()

    async def _advance(self) -> None:
        cursors = {job_id: self._tails[job_id].seq for job_id in self._news if job_id in self._tails}
        self._news.clear()
        if not cursors:
            return
        try:
            news = await self._read(cursors, self._reader)
        except DATABASE_AWAY as error:
            log.warning("the event streams wait, the database does not respond: %s", error)
            await asyncio.sleep(_DATABASE_PAUSE)
            self._news.update(cursors)
            self._wake.set()
            return
        began = time.monotonic()
        for job_id, found in news.items():
            await self._deliver(job_id, cursors[job_id], found)
        # At most half of the loop's time, so that other requests do not wait for the streams.
        await asyncio.sleep(min(time.monotonic() - began, _LONGEST_REST))

    async def _deliver(self, job_id: str, seq: int, news: News) -> None:
        tail = self._tails.get(job_id)
        if tail is None or tail.seq != seq or not (news.frames or news.ended):
            return  # watched anew meanwhile, or unchanged
        tail.add(news)
        if len(news.frames) == BATCH:
            self._note(job_id)
        for number, stream in enumerate(list(self._watchers[job_id])):
            stream.notify(job_id)
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)  # other tasks of the loop run between the slices

    async def _read(self, cursors: Mapping[str, int], limiter: anyio.CapacityLimiter) -> dict[str, News]:
        return await anyio.to_thread.run_sync(read_news, self._settings, cursors, limiter=limiter)

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(_TEND_SECONDS)
            now = time.monotonic()
            for stream in list(self._streams):
                stream.tend(now)

    async def _check_access(self) -> None:
        """End the streams of revoked keys and of closed or expired browser sessions: one query for all streams.

        It has a thread of its own, so that it does not wait for events to be read.
        """
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ACCESS_SECONDS):
                    await self._ended_access.wait()
            self._ended_access.clear()
            used = {stream.credential for stream in self._streams}
            try:
                valid = await anyio.to_thread.run_sync(self._valid, used, limiter=self._access_reader)
            except DATABASE_AWAY as error:
                log.warning("could not check the access of event streams: %s", error)
                continue
            for stream in list(self._streams):
                if stream.credential in used - valid:
                    stream.end()

    def _valid(self, used: set[str]) -> set[str]:
        with request_scope(self._settings) as session:
            return valid_credentials(session, used)
