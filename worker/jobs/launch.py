"""The trainer as a process: the same command that a person would type."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from core import child
from trainer.spec import ResourcesSpec
from worker.jobs.machines import Place
from worker.jobs.workspace import Workspace

TRAINER = (sys.executable, "-m", "trainer")
# Where the platform's secrets are. The trainer knows files; it has no business with the database.
_WITHHELD = ("DATABASE_URL", "REDIS_URL", "PROXIMAL_")


class Launcher:
    """Starts `command run spec.json …` in a workspace. The trainer dies with us, and leads a group that can be killed.

    A run in several processes is started by `command launch spec.json …`, whose processes die with it, and which passes
    on how they end: to us it looks like a trainer in one process.
    """

    def __init__(self, command: Sequence[str] = TRAINER) -> None:
        self._command = command

    def start(self, workspace: Workspace, resources: ResourcesSpec, place: Place) -> child.Child:
        arguments = trainer_arguments(workspace, resources, place)
        log_file = workspace.log if place.rank == 0 else workspace.log.with_stem(f"trainer-{place.rank}")
        with log_file.open("ab") as log:
            return child.start([*self._command, *arguments], cwd=workspace.folder, env=environment(), stdout=log)


def environment() -> dict[str, str]:
    """What a trainer may know of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}


def trainer_arguments(workspace: Workspace, resources: ResourcesSpec, place: Place) -> list[str]:
    """What to type behind `python -m trainer`."""
    what = "run" if resources.total == 1 else "launch"
    files = [str(workspace.spec), "--run-dir", str(workspace.folder), "--lease", str(workspace.lease)]
    files += ["--local-paths", str(workspace.local_paths)]
    meeting = ["--machine-rank", str(place.rank), "--rendezvous", place.rendezvous] if resources.machines > 1 else []
    return [what, *files, *meeting]


def last_words(log: Path, lines: int = 20, limit: int = 4000) -> str:
    """The end of what the trainer wrote to its terminal."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - limit))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])
