"""The application behind a real socket: for what a client that is called in the process cannot do, such as hang up."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from fastapi import FastAPI

from tests.waiting import eventually


@contextmanager
def serving(app: FastAPI) -> Iterator[int]:
    """The port on which it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: server.started)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()
