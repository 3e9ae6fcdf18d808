"""Finds damaged checkpoint folders of a run before they are used, and moves them out of the way."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainer.errors import ModelError, StorageError
from trainer.events import CheckpointDamaged, Event
from trainer.session import manifest
from trainer.spec import StageName

PREFIX = "damaged-"
"""Prefix of the folders that were moved. They are never read again."""


@dataclass(frozen=True)
class Damage:
    """A folder that was found damaged, and why."""

    path: Path
    reason: str


class Inspector:
    """Verifies each folder once, as long as it is not replaced."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._sound: dict[Path, tuple[int, int]] = {}

    def damage(self, path: Path) -> Damage | None:
        """The damage of a folder; None if it is as it was saved.

        A damaged folder is moved away. Raises StorageError for a folder that cannot be read.
        """
        if self._sound.get(path) == _identity(path):
            return None
        reason = reading(path, lambda: manifest.damage(path))
        if reason is not None:
            _move_away(path)
            return Damage(path, reason)
        self.trust(path)
        return None

    def forget(self) -> None:
        """Verify every folder again when it is used next."""
        self._sound.clear()

    def trust(self, path: Path) -> None:
        """Take a folder as sound that this process has just written."""
        self._sound[path] = _identity(path)

    def report(self, damage: Damage, stage: StageName, step: int | None, remedy: str, final: bool, best: bool) -> None:
        """Emit the event of a damaged folder. `remedy`: what happens instead."""
        path = damage.path
        self._emit(
            CheckpointDamaged(
                stage=stage,
                step=step,
                path=f"{path.parent.name}/{path.name}",
                final=final,
                best=best,
                reason=damage.reason,
                remedy=f"{remedy} The damaged files are kept in {PREFIX}{path.name}.",
            )
        )


def refuse_damaged_model(folder: Path) -> None:
    """Raise ModelError for a model folder with a manifest, such as a checkpoint of another run, whose files are damaged.

    Raises StorageError for a folder that cannot be read. The state for a resume is not looked at.
    """
    if not manifest.exists(folder):
        return
    if reason := reading(folder, lambda: manifest.damage(folder, model_only=True)):
        raise ModelError(
            f"The model in {folder} is damaged: {reason}. Copy it again from where it was saved, or choose another checkpoint."
        )


def reading(path: Path, read: Callable[[], str | None]) -> str | None:
    """Call `read`. Raises StorageError in place of an OSError: the content of a folder that cannot be read may be good."""
    try:
        return read()
    except OSError as error:
        raise StorageError(
            f"The checkpoint {path} cannot be read: {error.strerror or error}. Its content may be good. Restore access to the "
            "disk, and run the same command again."
        ) from error


def _identity(path: Path) -> tuple[int, int]:
    """A folder that is published under the same name is another one."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _move_away(path: Path) -> None:
    target = path.with_name(f"{PREFIX}{path.name}")
    if target.exists():
        shutil.rmtree(target)
    path.rename(target)
