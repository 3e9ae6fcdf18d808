"""Which local folders and files a run may read.

A worker's trainer is confined to the folders that the operator allows and to the run's own folder. The API, the worker
and the trainer apply the same rules. The API applies them when a job is submitted, and the worker before it starts the
trainer. The trainer applies them each time it opens a model or a file, because a link can change in between.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_HUB_ID = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LONGEST_HUB_ID = 96


def is_hub_id(name: str) -> bool:
    """Whether `name` has the form of a model id on the hub: `name` or `owner/name`, as huggingface_hub accepts it."""
    fits = len(name) <= _LONGEST_HUB_ID and _HUB_ID.fullmatch(name) is not None
    return fits and ".." not in name and "--" not in name and not name.endswith((".", "-", ".git"))


class PathNotAllowed(ValueError):
    """A local path outside the allowed folders. The text is the same whether or not the path exists."""


class PathRules(BaseModel):
    """Folders that may be read, and folders that may not."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    allowed: tuple[Path, ...] = ()
    """Folders that the operator allows, as absolute paths. They may be links."""
    refused: tuple[Path, ...] = ()
    """Folders that are refused even below an allowed one: the platform's data and blobs."""
    own: tuple[Path, ...] = ()
    """The run's own folder, where its worker has put its inputs. It is allowed although it lies in the data folder."""

    def why_not(self, name: str | Path) -> str | None:
        """The reason why a local path may not be read; None if it may."""
        try:
            self.resolved(name)
        except PathNotAllowed as error:
            return str(error)
        return None

    def resolved(self, name: str | Path) -> Path:
        """The path with its links resolved. It need not exist. Raises PathNotAllowed.

        The file system is consulted only for a path that lies below an allowed folder by its text. Neither the result nor
        its duration therefore depends on files elsewhere.
        """
        path = Path(name)
        if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise self._refusal()
        if not _below(path, [*self.own, *map(_real, self.own), *self.allowed, *map(_real, self.allowed)]):
            raise self._refusal()
        real = _real(path)
        if _below(real, map(_real, self.own)):
            return real
        if not _below(real, map(_real, self.allowed)) or _lies_in(real, self.refused):
            raise self._refusal()
        return real

    def checked_folder(self, name: str | Path) -> Path:
        """Resolve a model folder, and check its files and those one folder deeper. Raises PathNotAllowed."""
        folder = self.resolved(name)
        if folder.is_dir():
            for entry in (*folder.glob("*"), *folder.glob("*/*")):
                self.resolved(entry)
        return folder

    def _refusal(self) -> PathNotAllowed:
        roots = ", ".join(map(str, self.allowed))
        where = f"only from folders that its operator allows: {roots}" if roots else "from no folder"
        return PathNotAllowed(f"this platform reads local models and files {where} (PROXIMAL_LOCAL_MODELS)")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _lies_in(path: Path, folders: Sequence[Path]) -> bool:
    """By text, and by inode: on a file system that ignores case, or below a second mount, one folder has several names."""
    if _below(path, map(_real, folders)):
        return True
    refused = {key for folder in folders if (key := _inode(folder)) is not None}
    return any(_inode(parent) in refused for parent in (path, *path.parents))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
