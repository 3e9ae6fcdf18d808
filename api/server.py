"""The HTTP server: uvicorn, which ends event streams at a stop, and closes the connections of clients that are too slow."""

import asyncio
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from api.live.stream import ABORT
from api.problems import HeaderTooLarge, RequestTimeout, problem
from api.request_timeouts import TEND_SECONDS, RequestTimeouts, half_of_descriptors
from core.errors import PlatformError
from core.settings import Settings

GRACE_SECONDS = 5
_MOST_HEADER_BYTES = 256 * 1024
"""About the largest header or trailer of a request, and the most bytes between two pieces of a body."""
_TICKS_PER_SECOND = 10
"""Calls of uvicorn's `on_tick` in a second."""


class Config(uvicorn.Config):
    """uvicorn's configuration, with the time-outs that all connections share."""

    timeouts: RequestTimeouts


class Protocol(HttpToolsProtocol):
    """Waits for requests with a time-out. Offers the application the extension ABORT: uvicorn itself waits until a client has
    received what was written."""

    config: Config

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.peer = ""
        self._body_bytes = self._bytes_to_read = self._header_bytes = 0
        self._has_begun = self._header_is_complete = self._is_unread = False

    @property
    def has_header(self) -> bool:
        return self._header_is_complete or self._is_unread

    @property
    def moved(self) -> int:
        return self._bytes_to_read - self.transport.get_write_buffer_size() if self._is_unread else self._body_bytes

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.timeouts.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuses a request whose header grows without end, because the parser keeps all of it."""
        before = self._body_bytes
        super().data_received(data)
        has_no_body = self._has_begun and self._body_bytes == before
        self._header_bytes = self._header_bytes + len(data) if has_no_body else 0
        if self._header_bytes > _MOST_HEADER_BYTES:
            self._end(HeaderTooLarge(f"It may have at most {_MOST_HEADER_BYTES} bytes."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self.scope["extensions"] = {ABORT: {"abort": self.transport.abort}}
        self._await_request()
        self._has_begun = True

    def on_headers_complete(self) -> None:
        self._header_is_complete, self._body_bytes, self.since = True, 0, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_begun = False
        if not self._is_unread:
            self.config.timeouts.remove(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._has_begun:
            self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client has not read what was sent."""
        super().pause_writing()
        self._is_unread, self.since = True, self.loop.time()
        self._bytes_to_read = self.transport.get_write_buffer_size()
        self.config.timeouts.add(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_unread, self.since = False, self.loop.time()
        if not self._has_begun:
            self.config.timeouts.remove(self)

    def _await_request(self) -> None:
        self.since, self._header_is_complete, self._has_begun = self.loop.time(), False, False
        self.config.timeouts.add(self)

    def is_held_back(self) -> bool:
        return self.flow.read_paused and not self._is_unread

    def time_out(self, reason: str) -> None:
        """Send 408 if a part of the request has arrived. Without one, a browser may have opened the connection for later."""
        self._end(RequestTimeout(reason))

    def _end(self, error: PlatformError) -> None:
        """Close the connection, after the error if a request has begun.

        A client that does not read would never receive the end of the connection, which is therefore dropped.
        """
        if self._has_begun and not self._is_responding():
            self.transport.write(_refusal(error))
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _is_responding(self) -> bool:
        """Whether a response has been begun, to this request or to the one before."""
        if self.cycle is None:
            return False
        return self.cycle.response_started if self._header_is_complete else not self.cycle.response_complete


def _refusal(error: PlatformError) -> bytes:
    """A whole HTTP response: the application does not see a request that has not arrived."""
    response = problem("", "", error, {"Connection": "close"})
    headers = b"".join(name + b": " + value + b"\r\n" for name, value in response.raw_headers)
    return STATUS_LINE[response.status_code] + headers + b"\r\n" + bytes(response.body)


class Server(uvicorn.Server):
    """Serves the application."""

    def __init__(
        self, app: FastAPI, settings: Settings, host: str = "127.0.0.1", port: int = 8000, **options: Any
    ) -> None:
        # The middleware logs requests. The access log of uvicorn would contain the query, and with it the code of a sign-in link.
        config = Config(
            app,
            host=host,
            port=port,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            **proxies_of(settings) | {"timeout_graceful_shutdown": GRACE_SECONDS} | options,
        )
        config.timeouts = RequestTimeouts(
            settings.header_seconds,
            settings.body_seconds,
            settings.unfinished_requests_per_address,
            half_of_descriptors(),
            settings.trusted_proxies,
        )
        super().__init__(config)
        self._app = app  # config.app is a wrapper without `state`
        self._timeouts = config.timeouts

    async def on_tick(self, counter: int) -> bool:
        if counter % round(_TICKS_PER_SECOND * TEND_SECONDS) == 0:
            self._timeouts.tend(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.hub.close()
        super().handle_exit(sig, frame)


def proxies_of(settings: Settings) -> dict[str, Any]:
    """Options of uvicorn: the proxies whose headers name the client's address and scheme."""
    return {"proxy_headers": bool(settings.trusted_proxies), "forwarded_allow_ips": settings.trusted_proxies}
