"""The application for one test, also behind a real socket: for what a client in the process cannot do, such as hang up."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread

from fastapi import FastAPI

from api.app import create_app
from api.dashboard import Dashboard
from api.live.hub import Hub
from api.monitoring import Monitor
from api.server import Server
from core.settings import Settings
from core.uploads.checksums import RunningDigests
from tests.waiting import eventually


def application(settings: Settings) -> FastAPI:
    """A fresh application with these settings. Those of hosts, origins and limits are read from the environment."""
    app = _built()
    app.state.settings = settings
    app.state.hub = Hub(settings)
    app.state.digests = RunningDigests()
    app.state.monitor = Monitor()
    app.router.default = Dashboard(settings.dashboard_dir)
    return app


@cache
def _built() -> FastAPI:
    """Built once: putting all routes together takes longer than most tests."""
    return create_app()


@contextmanager
def serving(app: FastAPI) -> Iterator[int]:
    """The port on which it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(app, app.state.settings)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: server.started)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()
