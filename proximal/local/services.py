"""The processes of a local platform."""

import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

from core import child
from core.child import Child as Child  # the demo stops it
from core.embedded.postgres import Postgres
from core.embedded.redis import Redis
from proximal.data_folder import DataFolder
from proximal.local.options import Options
from proximal.local.supervisor import Service, Supervisor

# A trainer has a minute to save (PROXIMAL_STOP_SECONDS).
_WORKER_GRACE = 70.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Servers:
    """Addresses of the database and the broker."""

    database_url: str
    redis_url: str


def start_servers(options: Options, supervisor: Supervisor, say: Say) -> Servers:
    """The servers that the environment names; otherwise embedded servers in the data folder."""
    folder = options.folder
    database_url, redis_url = options.environment.database_url, options.environment.redis_url
    if database_url is None:
        say("Starting PostgreSQL in the data folder")
        database = postgres(folder)
        supervisor.start(Service("PostgreSQL", database.start, signal.SIGINT))
        database_url = database.url
    if redis_url is None:
        say("Starting Redis in the data folder")
        broker = redis(folder)
        supervisor.start(Service("Redis", broker.start))
        redis_url = broker.url
    return Servers(f"postgresql+psycopg://{database_url.partition('://')[2]}", redis_url)


def start_our_own(options: Options, servers: Servers, supervisor: Supervisor) -> None:
    """Start the API, the data worker, which sweeps as well, and the workers, each with its own log."""
    folder = options.folder
    addresses = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url}
    models = ":".join(map(str, options.model_folders))
    folders = {"PROXIMAL_DATA_DIR": str(folder.path), "PROXIMAL_LOCAL_MODELS": models}
    env = {**os.environ, **addresses, **folders}

    def start(name: str, *command: str, grace: float = 10.0, **more: str) -> None:
        def launch() -> Child:
            with folder.log(name).open("ab") as log:
                return child.start(python(*command), stdout=log, env=env | more)

        supervisor.start(Service(name, launch, grace=grace))

    start("api", "api", "--host", options.host, "--port", str(options.port))
    start("data-worker", "worker", "background")
    machine = os.environ.get("PROXIMAL_WORKER_NAME") or socket.gethostname()
    for number in range(1, options.workers + 1):
        suffix = "" if number == 1 else f"-{number}"
        start(f"worker{suffix}", "worker", grace=_WORKER_GRACE, PROXIMAL_WORKER_NAME=machine + suffix)


def postgres(folder: DataFolder) -> Postgres:
    """The embedded PostgreSQL of a data folder."""
    return Postgres(folder.postgres, folder.log("postgres"))


def redis(folder: DataFolder) -> Redis:
    """The embedded Redis of a data folder."""
    return Redis(folder.redis, folder.log("redis"))


def python(*module_and_arguments: str) -> list[str]:
    # -P: modules are not imported from the working directory, which may hold a folder named `api` or `worker`.
    return [sys.executable, "-P", "-m", *module_and_arguments]


def start_in_background(options: Options) -> Child:
    """Start `proximal up` as a child process. It ends with this process and stops its own children."""
    folder = options.folder
    folder.prepare()
    command = python("proximal.cli", "up", "--host", options.host, "--port", str(options.port))
    command += ["--data-dir", str(folder.path), "--workers", str(options.workers)]
    with folder.log("up").open("wb") as log:
        return child.start(command, stdout=log, death_signal=signal.SIGTERM)
