"""The platform as a child of another command."""

import signal

from client.local.options import Options
from client.local.services import python
from core import child
from core.child import Child

__all__ = ["Child", "start"]


def start(options: Options) -> Child:
    """`proximal up`, which ends when we do, taking along all that it started."""
    folder = options.folder
    folder.prepare()
    command = python("client", "up", "--host", options.host, "--port", str(options.port))
    command += ["--data-dir", str(folder.path), "--workers", str(options.workers)]
    with folder.log("up").open("wb") as log:
        return child.start(command, stdout=log, death_signal=signal.SIGTERM)
