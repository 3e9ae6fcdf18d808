"""PostgreSQL refuses to run as root. In containers and on rented machines root is often all there is."""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

from core import child
from core.child_exec import NOBODY
from core.embedded.errors import EmbeddedServerError


@cache
def unprivileged() -> child.Identity:
    """The first identity that this machine allows us to give to a child."""
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


def give(folder: Path, identity: child.Identity) -> None:
    """Make the folder belong to whom the child will be on disk: PostgreSQL insists on owning its data."""
    if os.geteuid() != 0:
        return
    owner = NOBODY if identity == "nobody" else 0
    if folder.stat().st_uid == owner:
        return
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, owner, owner)
