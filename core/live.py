"""The live bus: after a commit, Redis carries the numbers of a job's new events to every API process.

A notice wakes the reader of a stream and carries no event: PostgreSQL stores the events, and the API polls it more often
while Redis does not respond. A lost notice delays an event until the next poll. A second channel announces that credentials
have ended, and the API then checks those of its streams at once.
"""

import logging
import time
from functools import lru_cache

import orjson
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry
from sqlalchemy.orm import Session

from core.db import after_commit
from core.settings import get_settings

CHANNEL = "proximal:events"
"""The pub/sub channel of the notices. Its messages are JSON objects: {id of a job: number of its last event}."""
ACCESS_CHANNEL = "proximal:access"
"""The channel that announces an ended credential: a revoked key, or a browser that signed out. Its messages are empty."""
Notice = dict[str, int]
"""The number of the last event, by the id of the job."""

_NEWS, _ACCESS = "live_news", "live_access"
_TIMEOUT_SECONDS = 0.2
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
log = logging.getLogger(__name__)


def announce(session: Session, job_id: str, seq: int) -> None:
    """Publish the number of the job's last event after the commit: one message for all jobs of the transaction."""
    news: Notice | None = session.info.get(_NEWS)
    if news is None:
        news = session.info[_NEWS] = {}
        after_commit(session, lambda: _publish(session))
    news[job_id] = seq


def announce_ended_access(session: Session) -> None:
    """Publish after the commit that credentials have ended."""
    if not session.info.setdefault(_ACCESS, False):
        session.info[_ACCESS] = True
        after_commit(session, lambda: _own_publisher().publish(ACCESS_CHANNEL, b""))


def _publish(session: Session) -> None:
    _own_publisher().publish(CHANNEL, orjson.dumps(session.info.pop(_NEWS)))


def _own_publisher() -> "Publisher":
    return publisher_for(get_settings().redis_url)


class Publisher:
    """Publishes messages to one Redis server. It never raises, and delays its caller by a fraction of a second at most.

    After a failure it publishes nothing for 1 second, and for twice as long after each further failure, up to 30 seconds.
    """

    def __init__(self, redis_url: str) -> None:
        # One retry: the pool's connections are closed after a restart of the server. A timeout is not repeated.
        retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
        timeouts = {"socket_connect_timeout": _TIMEOUT_SECONDS, "socket_timeout": _TIMEOUT_SECONDS}
        self._redis = Redis.from_url(redis_url, retry=retry, **timeouts)
        self._resume_at = 0.0
        self._pause = _FIRST_PAUSE

    def publish(self, channel: str, message: bytes) -> None:
        if time.monotonic() < self._resume_at:
            return
        try:
            self._redis.publish(channel, message)
        except RedisError as error:
            log.warning("no live notices for %.0f s, streams are polled meanwhile: %s", self._pause, error)
            self._resume_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        else:
            self._pause = _FIRST_PAUSE


@lru_cache
def publisher_for(redis_url: str) -> Publisher:
    """The publisher of this process for a Redis server."""
    return Publisher(redis_url)
