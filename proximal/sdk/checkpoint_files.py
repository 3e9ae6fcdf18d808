"""Downloads of checkpoints as folders, verified file by file."""

import hashlib
from pathlib import Path, PurePosixPath
from typing import Protocol

from proximal.errors import DamagedDownload
from proximal.sdk.types import Checkpoint


class Platform(Protocol):
    """The method of a client that this module needs."""

    def download_checkpoint_file(self, checkpoint_id: str, path: str, target: Path) -> Path: ...


def save_checkpoint(client: Platform, checkpoint: Checkpoint, folder: Path) -> Path:
    """Write the files of a checkpoint to a folder, and verify the SHA-256 of what arrived. Returns `folder`.

    Files with the right SHA-256 that are there already are not downloaded again. Raises DamagedDownload.
    """
    for file in checkpoint["files"]:
        target = _inside(folder, file["path"])
        if target.is_file() and _sha256(target) == file["sha256"]:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        client.download_checkpoint_file(checkpoint["id"], file["path"], target)
        if (found := _sha256(target)) != file["sha256"]:
            target.unlink()
            raise DamagedDownload(
                f"{file['path']} of {checkpoint['id']} arrived with the SHA-256 {found} instead of {file['sha256']}. "
                "Run the same command again: it downloads only what is missing."
            )
    return folder


def _inside(folder: Path, path: str) -> Path:
    """The file at a relative path below a folder. Raises DamagedDownload for a path that leaves it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or not pure.parts:
        raise DamagedDownload(f"The platform lists a file outside the folder: {path!r}.")
    return folder / pure


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
