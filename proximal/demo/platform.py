"""The platform that the demo runs on: the one that is running, or a new one that ends with the demo."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from proximal.data_folder import UpError
from proximal.errors import ApiError, Unreachable
from proximal.local import services
from proximal.local.options import Options
from proximal.local.services import Child
from proximal.sdk import Client, sign_in_link

_READY_SECONDS = 120.0
_POLL_SECONDS = 0.1
# `up` gives its worker 70 seconds; the other processes need a few more.
_STOP_SECONDS = 100.0


@dataclass(frozen=True)
class Platform:
    """A platform that responds. `child` is None if it was running before."""

    client: Client
    url: str
    key: str
    child: Child | None

    def link(self, path: str = "") -> str:
        """An address in the dashboard that signs in once, within a few minutes."""
        return sign_in_link(self.client, path)


@contextmanager
def platform(options: Options, console: Console) -> Iterator[Platform]:
    """A running platform. At the end, the processes started here are stopped. A Ctrl-C then skips the trainer's saving."""
    folder = options.folder
    running, key = folder.running(), folder.key()
    if running and key:
        console.print(f"Using the platform that is already running at {running.url}.")
        with Client(running.url, key) as client:
            yield Platform(client, running.url, key, None)
        return
    console.print("Starting the platform: PostgreSQL, Redis, API, worker, sweeper …")
    child = services.start_in_background(options)
    try:
        key = _await(options, child)
        with Client(options.url, key) as client:
            yield Platform(client, options.url, key, child)
    finally:
        _end(child, console)


def _await(options: Options, child: Child) -> str:
    """Wait until it is ready, and return its key. UpError with the log if it does not start."""
    deadline = time.monotonic() + _READY_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        key = options.folder.key()
        if key and _is_ready(options.url, key):
            return key
        time.sleep(_POLL_SECONDS)
    log = options.folder.log("up")
    raise UpError(f"The platform did not start. From {log}:\n{log.read_text(errors='replace').strip()}")


def _is_ready(url: str, key: str) -> bool:
    try:
        with Client(url, key) as client:
            client.is_ready()
            client.who_am_i()
    except (Unreachable, ApiError):
        return False
    return True


def _end(child: Child, console: Console) -> None:
    if child.poll() is None:
        console.print("Stopping the platform …")
    try:
        child.stop(_STOP_SECONDS)
    except KeyboardInterrupt:
        child.kill()
