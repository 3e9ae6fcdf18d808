"""A platform in a folder: embedded PostgreSQL and Valkey, a migrated database, a key, and API processes on request."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from core.access import keys
from core.child import Child, start
from core.db import migrate, session_scope
from core.embedded.postgres import Postgres
from core.embedded.redis import Redis
from core.settings import get_settings

_READY_SECONDS = 60.0


@dataclass(frozen=True)
class LocalPlatform:
    """Addresses of the servers, and the owner's key. This process's settings name the same servers."""

    folder: Path
    database_url: str
    redis_url: str
    owner_id: str
    key: str

    @contextmanager
    def api(self) -> Iterator[httpx.Client]:
        """Start an API process. Yields a client that is signed in with the key."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        process = self.start("api", "--port", str(port))
        try:
            headers = {"Authorization": f"Bearer {self.key}"}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120) as client:
                wait_until_ready(client)
                yield client
        finally:
            process.stop(10)

    def start(self, *module_and_arguments: str) -> Child:
        """Start a Python module as a process with the settings of this platform, such as `worker sweep`."""
        with (self.folder / f"{module_and_arguments[0]}.log").open("ab") as log:
            return start([sys.executable, "-P", "-m", *module_and_arguments], stdout=log, env=dict(os.environ))


@contextmanager
def local_platform(folder: Path) -> Iterator[LocalPlatform]:
    """Start the servers on new data folders, and stop them at the end. They write to disk as in production."""
    with ExitStack() as stack:
        database = Postgres(folder / "postgres", folder / "postgres.log")
        running = database.start()
        stack.callback(lambda: database.stop(running))
        broker = Redis(folder / "redis", folder / "redis.log")
        queue = broker.start()
        stack.callback(lambda: broker.stop(queue))
        os.environ |= {
            "DATABASE_URL": database.url,
            "REDIS_URL": broker.url,
            "PROXIMAL_DATA_DIR": str(folder / "data"),
            "PROXIMAL_REQUESTS_PER_SECOND": "0",  # all clients share one key
        }
        get_settings.cache_clear()
        migrate(get_settings().database_url)
        with session_scope() as session:
            key, plaintext = keys.create_key(session, "benchmark")
            owner_id = key.owner_id
        yield LocalPlatform(folder, database.url, broker.url, owner_id, plaintext)


def wait_until_ready(client: httpx.Client) -> None:
    """Return when `/readyz` does. Raises TimeoutError after a minute."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        try:
            if client.get("/readyz").is_success:
                return
        except httpx.TransportError:
            pass  # it does not listen yet
        time.sleep(0.05)
    raise TimeoutError(f"The API did not start within {_READY_SECONDS:.0f} s.")
