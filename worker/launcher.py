"""The trainer as a process: the same command that a person would type."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from core import child
from worker.workspace import Workspace

TRAINER = (sys.executable, "-m", "trainer")
# Where the platform's secrets are. The trainer knows files; it has no business with the database.
_WITHHELD = ("DATABASE_URL", "REDIS_URL", "PROXIMAL_")


class Launcher:
    """Starts `command run spec.json …` in a workspace. The trainer dies with us, and leads a group that can be killed."""

    def __init__(self, command: Sequence[str] = TRAINER) -> None:
        self._command = command

    def start(self, workspace: Workspace) -> child.Child:
        arguments = ["run", str(workspace.spec), "--run-dir", str(workspace.folder), "--lease", str(workspace.lease)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
        with workspace.log.open("ab") as log:
            return child.start([*self._command, *arguments], cwd=workspace.folder, env=environment, stdout=log)


def last_words(log: Path, lines: int = 20, limit: int = 4000) -> str:
    """The end of what the trainer wrote to its terminal."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - limit))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])
