"""The live bus: after a commit, Redis carries the numbers of a job's new events to every API process.

A notice wakes the reader of a stream and carries no event: PostgreSQL stores the events, and the API polls it more often
while Redis does not respond. A lost notice delays an event until the next poll.
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
Notice = dict[str, int]
"""The number of the last event, by the id of the job."""

_NEWS = "live_news"
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


def _publish(session: Session) -> None:
    publisher_for(get_settings().redis_url).publish(session.info.pop(_NEWS))


class Publisher:
    """Publishes notices to one Redis server. It never raises, and delays its caller by a fraction of a second at most.

    After a failure it publishes nothing for 1 second, and for twice as long after each further failure, up to 30 seconds.
    """

    def __init__(self, redis_url: str) -> None:
        # One retry: the pool's connections are closed after a restart of the server. A timeout is not repeated.
        retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
        timeouts = {"socket_connect_timeout": _TIMEOUT_SECONDS, "socket_timeout": _TIMEOUT_SECONDS}
        self._redis = Redis.from_url(redis_url, retry=retry, **timeouts)
        self._resume_at = 0.0
        self._pause = _FIRST_PAUSE

    def publish(self, notice: Notice) -> None:
        if time.monotonic() < self._resume_at:
            return
        try:
            self._redis.publish(CHANNEL, orjson.dumps(notice))
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
