"""The newest events of a watched job, read once from PostgreSQL and serialised once for all clients of this process."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from api.jobs.event_schemas import JobEvent
from core.db import request_scope
from core.jobs.run.events import news_of
from core.models.jobs import TERMINAL
from core.settings import Settings

BATCH = 200
"""Most events of one job in a read."""
_MOST_FRAMES, _MOST_BYTES = 500, 1024**2


@dataclass(frozen=True, slots=True)
class Frame:
    """An event as the `event` and `data` lines of its message. Each stream puts its own `id` line before them."""

    seq: int
    body: bytes


@dataclass(frozen=True)
class News:
    """The events after a cursor, at most BATCH, and whether the job has ended and they are its last."""

    frames: Sequence[Frame]
    ended: bool


def read_news(settings: Settings, cursors: Mapping[str, int]) -> dict[str, News]:
    """The news of each job after its cursor, in one query, as long as a request may take. A deleted job has ended."""
    with request_scope(settings) as session:
        found = news_of(session, cursors, BATCH)
        news = {job_id: News((), ended=True) for job_id in cursors}
        for job_id, (status, last_seq, rows) in found.items():
            frames = [Frame(row.seq, _body(JobEvent.model_validate(row))) for row in rows]
            last = frames[-1].seq if frames else cursors[job_id]
            news[job_id] = News(frames, ended=status in TERMINAL and last >= last_seq)
    return news


def _body(event: JobEvent) -> bytes:
    return f"event: {event.type}\ndata: {event.model_dump_json()}\n\n".encode()


class Tail:
    """The events of one job after `floor`, up to `seq`. The oldest ones are dropped: 500 events or 1 MiB remain at most.

    A client whose cursor is below `floor` reads the missing events from the database.
    """

    def __init__(self, seq: int) -> None:
        self.floor = self.seq = seq
        self.ended = False
        self._frames: list[Frame] = []
        self._bytes = 0

    def add(self, news: News) -> None:
        """Append what was read after `seq`."""
        self.ended = news.ended
        if not news.frames:
            return
        self._frames += news.frames
        self._bytes += sum(len(frame.body) for frame in news.frames)
        self.seq = self._frames[-1].seq
        while len(self._frames) > 1 and (len(self._frames) > _MOST_FRAMES or self._bytes > _MOST_BYTES):
            oldest = self._frames.pop(0)
            self._bytes -= len(oldest.body)
            self.floor = oldest.seq

    def news_after(self, seq: int) -> News:
        """The buffered events after number `seq`, which is not below `floor`."""
        return News(self._frames[bisect_right(self._frames, seq, key=attrgetter("seq")) :], self.ended)
