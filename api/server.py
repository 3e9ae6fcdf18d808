"""The HTTP server: uvicorn, which ends event streams at a stop and can close the connection of a slow client."""

from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.live.stream import ABORT

GRACE_SECONDS = 5


class Protocol(HttpToolsProtocol):
    """Offers the application the extension ABORT: uvicorn itself waits until a client has received what was written."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: {"abort": self.transport.abort}}


class Server(uvicorn.Server):
    """Serves the application."""

    def __init__(self, app: FastAPI, host: str = "127.0.0.1", port: int = 8000, **options: Any) -> None:
        # The middleware logs requests. The access log of uvicorn would contain the query, and with it the code of a sign-in link.
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=Protocol,
            log_config=None,
            access_log=False,
            server_header=False,
            **{"timeout_graceful_shutdown": GRACE_SECONDS} | options,
        )
        super().__init__(config)
        self._app = app  # config.app is a wrapper without `state`

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.hub.close()
        super().handle_exit(sig, frame)
