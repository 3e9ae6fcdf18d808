"""Folders of the embedded servers."""

import hashlib
import os
import tempfile
from pathlib import Path

from core.embedded.errors import EmbeddedServerError

# The kernel's limit for a socket's path is 107 bytes on Linux and 103 on macOS; PostgreSQL adds its own file name.
_LONGEST_SOCKET_FOLDER = 80


def private(folder: Path) -> Path:
    """The folder, made if need be, open to its owner alone."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def for_sockets(folder: Path) -> Path:
    """`folder`, or a short stand-in under the temporary folder when its path is too long for a socket."""
    folder = folder.absolute()
    if len(os.fsencode(folder)) <= _LONGEST_SOCKET_FOLDER:
        return private(folder)
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"proximal-{os.getuid()}-{name}"
    short.mkdir(mode=0o700, exist_ok=True)
    # The temporary folder is everybody's: the name may have been taken by somebody else.
    if short.is_symlink() or short.stat().st_uid != os.getuid():
        raise EmbeddedServerError(f"{short} belongs to somebody else. Choose a data folder with a shorter path.")
    return private(short)


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for a message."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
