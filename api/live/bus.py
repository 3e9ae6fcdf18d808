"""The subscription of this process to the notices of new events in Redis."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from core.live import ACCESS_CHANNEL, CHANNEL, Notice

_PING_SECONDS = 10.0
_CONNECT_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
log = logging.getLogger(__name__)


class Subscription:
    """Calls `receive` with each notice, and connects again after a failure. `active` is False while notices may be lost.

    `on_active` is called with each new subscription, and `on_ended_access` when a credential has ended.
    """

    def __init__(
        self,
        redis_url: str,
        receive: Callable[[Notice], None],
        on_active: Callable[[], None],
        on_ended_access: Callable[[], None],
    ) -> None:
        self._redis_url = redis_url
        self._receive = receive
        self._on_active = on_active
        self._on_ended_access = on_ended_access
        self._pause = _FIRST_PAUSE
        self.active = False

    async def run(self) -> None:
        """Listen until the task is cancelled."""
        while True:
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                if self.active or self._pause == _FIRST_PAUSE:
                    log.warning("no live notices from Redis, streams are polled meanwhile: %s", error)
            self.active = False
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    async def _listen(self) -> None:
        timeouts: dict[str, Any] = {"socket_connect_timeout": _CONNECT_SECONDS, "socket_timeout": None}
        client = Redis.from_url(self._redis_url, retry=Retry(NoBackoff(), 0), **timeouts)
        async with client, client.pubsub() as pubsub:
            await pubsub.subscribe(CHANNEL, ACCESS_CHANNEL)
            while True:
                self._take(await _next_message(pubsub))

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self.active, self._pause = True, _FIRST_PAUSE
            self._on_active()
        elif message["type"] == "message" and message["channel"] == ACCESS_CHANNEL.encode():
            self._on_ended_access()
        elif message["type"] == "message":
            self._receive(orjson.loads(message["data"]))


async def _next_message(pubsub: PubSub) -> dict[str, Any]:
    """Wait for a message. Raises ConnectionError if the server is silent for 20 s in spite of a ping."""
    for _ in range(2):
        message: dict[str, Any] | None = await pubsub.get_message(timeout=_PING_SECONDS)
        if message is not None:
            return message
        await pubsub.ping()
    raise RedisConnectionError("Redis does not respond to a ping.")
