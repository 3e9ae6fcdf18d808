"""Starts a local platform, keeps it running, and stops it.

The supervisor runs for days. Settings, database and client need large packages. So what uses them runs in a child process, and
the supervisor does not keep the packages in memory.
"""

import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from core.embedded.server import EmbeddedServerError, log_tail
from proximal.data_folder import DataFolder, Running, UpError
from proximal.local.options import Options
from proximal.local.services import Say, start_our_own, start_servers
from proximal.local.supervisor import Supervisor, stopping_on_signals

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
_TICK_SECONDS = 0.1
_READY_SECONDS = 180.0


def up(options: Options, say: Say) -> None:
    """Start everything and keep it running until SIGINT or SIGTERM. A second signal kills the processes."""
    options = _in_child(options.with_environment)
    supervisor = Supervisor(say)
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        supervisor.urgent = signals > 1

    with options.folder.hold(Running(os.getpid(), options.url)), stopping_on_signals(on_signal):
        try:
            key = _start(options, supervisor, say)
            if _await_ready(options, supervisor, lambda: signals > 0):
                say(_welcome(options, _in_child(_sign_in_link, options, key) if sys.stdout.isatty() else None))
            while not signals:
                supervisor.tick()
                time.sleep(_TICK_SECONDS)
            say("Stopping … (press Ctrl-C again to stop at once, without saving)")
        except EmbeddedServerError as error:
            raise UpError(str(error)) from error
        finally:
            supervisor.stop()
    say("Everything has stopped.")


def _start(options: Options, supervisor: Supervisor, say: Say) -> str:
    """Start the servers and our processes. Returns the local API key."""
    _require_free_port(options)
    servers = start_servers(options, supervisor, say)
    say("Migrating the database")
    key = _in_child(_prepare, servers.database_url, options.folder)
    say("Starting the API, the data worker and the worker")
    start_our_own(options, servers, supervisor)
    return key


def _in_child(
    function: Callable[Parameters, Result], *arguments: Parameters.args, **options: Parameters.kwargs
) -> Result:
    """Call a function in a child process. Returns its result, or raises its error."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        return pool.submit(function, *arguments, **options).result()


def _prepare(database_url: str, folder: DataFolder) -> str:
    """Migrate the database. Returns the local API key."""
    from sqlalchemy.exc import OperationalError

    from core.db import migrate
    from core.errors import PlatformError
    from proximal.local import keys

    try:
        migrate(database_url)
        return keys.ensure(database_url, folder)
    except OperationalError as error:
        raise UpError(f"The database does not respond: {error.orig}") from None
    except PlatformError as error:
        raise UpError(str(error)) from error


def _require_free_port(options: Options) -> None:
    try:
        socket.create_server((options.host, options.port)).close()
    except OSError as error:
        raise UpError(
            f"Cannot listen at {options.host}:{options.port}: {os.strerror(error.errno or 0)}. "
            f"Choose another port, for example --port {options.port + 1}."
        ) from error


def _await_ready(options: Options, supervisor: Supervisor, stopped: Callable[[], bool]) -> bool:
    """Wait for /readyz. Returns False if a signal stops the platform first."""
    deadline = time.monotonic() + _READY_SECONDS
    while not stopped():
        supervisor.tick()
        if _is_ready(options):
            return True
        if time.monotonic() > deadline:
            log = options.folder.log("api")
            raise UpError(f"The API was not ready after {_READY_SECONDS:.0f} s. From {log}:\n{log_tail(log)}")
        time.sleep(_TICK_SECONDS)
    return False


def _is_ready(options: Options) -> bool:
    connection = HTTPConnection(options.url.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _sign_in_link(options: Options, key: str) -> str:
    from proximal.sdk import Client, sign_in_link

    with Client(options.url, key) as client:
        return sign_in_link(client)


def _command(options: Options) -> str:
    """The command that opens the dashboard of this platform, from any folder of another terminal and with any variables."""
    installed = Path(sys.executable).with_name("proximal")
    is_environment = sys.prefix != sys.base_prefix  # another terminal may not have activated it
    if shutil.which("proximal") is not None and not is_environment:
        program = "proximal"
    elif installed.is_file():
        program = shlex.quote(str(installed))
    else:
        program = f"{shlex.quote(sys.executable)} -m proximal.cli"
    return f"{program} open --data-dir {shlex.quote(str(options.folder.path))}"


def _welcome(options: Options, link: str | None) -> str:
    """The welcome text. On a terminal it has a link that signs in once. A log has the plain address."""
    folder = options.folder
    models = ", ".join(map(str, options.model_folders)) or "none"
    return f"""
Proximal is running.

  Dashboard   {link or f"{options.url}/"}
  Sign in     {_command(options)}
  REST        {options.url}/v1   (reference: {options.url}/docs)
  API key     {folder.key_file}
  Models      {models}   (jobs may read local models from here)
  Logs        {folder.logs}

Ctrl-C stops it."""
