"""An embedded PostgreSQL on a data folder that stays between starts."""

import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

from core import child
from core.child_exec import NOBODY
from core.embedded.server import (
    EmbeddedServerError,
    FolderInUse,
    StartFailed,
    log_tail,
    postgres_program,
    private_folder,
    socket_folder,
    wait_until_ready,
)

_NAME = "PostgreSQL"
_USER = "proximal"
_PORT = 5432
"""Part of the name of the socket. Without it, PGPORT of each process would count."""
_START_SECONDS = 30.0
_PREDECESSOR_SECONDS = 10.0
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings for tests, whose data need not survive a power cut."""


class Postgres:
    """A server on a data folder. `start()` returns its process. `url` is its address: a unix socket in a private folder."""

    def __init__(self, folder: Path, log: Path, *, database: str = "proximal", durable: bool = True) -> None:
        self._folder = folder.absolute()
        self._data = self._folder / "data"
        self._log = log
        self._database = database
        self._settings = {} if durable else _NOT_DURABLE
        self._sockets = socket_folder(self._folder / "run")

    @property
    def url(self) -> str:
        return self.url_of(self._database)

    def url_of(self, database: str) -> str:
        return f"postgresql+psycopg://{_USER}@/{database}?host={self._sockets}&port={_PORT}"

    def start(self) -> child.Child:
        """Start the server and wait until it accepts connections. An earlier server may have ended in any way.

        Raises BinaryMissing, FolderInUse or StartFailed.
        """
        private_folder(self._folder)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        who = unprivileged_identity()
        if not self._data.exists():
            self._initialise(who)
        _wait_for_predecessor(self._data)
        change_owner(self._data, who)
        server = self._launch(who)
        try:
            wait_until_ready(_NAME, server, self._log, _START_SECONDS, self._accepts)
            self._ensure_database()
        except BaseException:
            server.kill()
            raise
        return server

    def stop(self, server: child.Child, grace: float = 10.0) -> int:
        """Shut down fast: the server ends its sessions and writes its data. Returns the exit status."""
        return server.stop(grace, signal.SIGINT)

    def _initialise(self, who: child.Identity) -> None:
        """Run `initdb` in a temporary folder and rename it, so that an interrupted run leaves no data folder."""
        draft = self._folder / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        change_owner(draft, who)
        command = [str(postgres_program("initdb")), "-D", str(draft), "-U", _USER, "--auth=trust", "--encoding=UTF8"]
        # Sorting must not depend on the C library, which may be updated while the data folder stays.
        command += [
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ]
        with self._log.open("ab") as log:
            status = child.start(command, stdout=log, identity=who).wait()
        if status != 0:
            raise StartFailed(_NAME, f"initdb ended with status {status}", log_tail(self._log))
        draft.rename(self._data)

    def _launch(self, who: child.Identity) -> child.Child:
        settings = {
            "listen_addresses": "",
            "port": str(_PORT),
            "unix_socket_directories": str(self._sockets),
            "unix_socket_permissions": "0700",
            "shared_buffers": "64MB",
            "max_connections": "100",
            "timezone": "UTC",
            "io_workers": "1",  # each process takes 4 MiB, also while the platform is idle
            "max_logical_replication_workers": "0",
            **self._settings,
        }
        command = [str(postgres_program("postgres")), "-D", str(self._data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            return child.start(command, stdout=log, death_signal=signal.SIGINT, identity=who)

    def _accepts(self) -> bool:
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_database(self) -> None:
        with self._connect() as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (self._database,)).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._database)))

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self._sockets), port=_PORT, user=_USER, dbname="postgres", connect_timeout=5, autocommit=True
        )


def _wait_for_predecessor(data: Path) -> None:
    """Wait while an earlier server shuts down, and remove the pid file of a dead one. Raises FolderInUse after 10 s.

    PostgreSQL itself only checks whether any process has the number in the file. After a reboot it may be another program.
    """
    pid_file = data / "postmaster.pid"
    deadline = time.monotonic() + _PREDECESSOR_SECONDS
    while (pid := _pid_in(pid_file)) is not None:
        if not _is_server_on(pid, data):
            pid_file.unlink(missing_ok=True)
        elif time.monotonic() > deadline:
            raise FolderInUse(_NAME, data, pid)
        else:
            time.sleep(0.05)


def _pid_in(pid_file: Path) -> int | None:
    try:
        lines = pid_file.read_text().splitlines()
    except FileNotFoundError:
        return None
    return int(lines[0]) if lines and lines[0].isdigit() else 0


def _is_server_on(pid: int, data: Path) -> bool:
    """Whether the process has the data folder on its command line."""
    if pid == 0:
        return False
    if sys.platform == "linux":
        try:
            return os.fsencode(data) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return False
    listing = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return os.fsencode(data) in listing.stdout


@cache
def unprivileged_identity() -> child.Identity:
    """An identity under which PostgreSQL runs: it refuses to run as root, which is often the only user of a container.

    Raises EmbeddedServerError if this machine allows no such identity.
    """
    if os.geteuid() != 0:
        return "ours"
    if sys.platform == "linux":
        for identity in ("namespace", "nobody"):
            if child.start(["true"], identity=identity).wait() == 0:
                return identity
    raise EmbeddedServerError(
        "PostgreSQL does not run as root, and this machine allows neither user namespaces nor a change of user. "
        "Run as a normal user, or set DATABASE_URL to a server of your own."
    )


def change_owner(folder: Path, identity: child.Identity) -> None:
    """Give the folder to the user of the child. PostgreSQL must own its data folder."""
    if os.geteuid() != 0:
        return
    owner = NOBODY if identity == "nobody" else 0
    if folder.stat().st_uid == owner:
        return
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, owner, owner)
