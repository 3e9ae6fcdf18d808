"""Copies checkpoint folders to the blob store and back."""

import hashlib
import json
import shutil
from pathlib import Path, PurePosixPath

from core.blobs import BlobStore
from core.errors import NotFound
from core.jobs.checkpoints import CheckpointFile

BEST = "best.json"
"""The file in the folder of a stage's best checkpoint that names its step."""
TRAINER_STATE = "trainer_state"
"""The part of a checkpoint that only a resume needs: the optimizers, the critic."""


def upload(blobs: BlobStore, folder: Path, prefix: str) -> list[CheckpointFile]:
    """Store every file of a folder under `prefix/`. Returns their paths, sizes and hashes.

    Raises FileNotFoundError if the trainer removes or replaces the folder meanwhile.
    """
    before = folder.stat().st_ino
    files = [_upload_file(blobs, path, folder, prefix) for path in sorted(folder.rglob("*")) if path.is_file()]
    if folder.stat().st_ino != before:
        raise FileNotFoundError(f"{folder} was replaced")
    return files


def check_step(folder: Path, step: int) -> None:
    """Raises FileNotFoundError if a best-checkpoint folder holds another step. That step has an event of its own."""
    best = folder / BEST
    if best.exists() and json.loads(best.read_text())["step"] != step:
        raise FileNotFoundError(f"{folder} holds another step")


def download(blobs: BlobStore, prefix: str, target: Path, *, model_only: bool = False) -> None:
    """Fetch a folder. It appears under its name once it is complete. `model_only`: without the state for a resume.

    Raises NotFound.
    """
    draft = target.with_name(f".incoming-{target.name}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    keys = list(blobs.list(prefix))
    if not keys:
        raise NotFound(f"The blob store has no files below {prefix}.")
    for key in keys:
        path = PurePosixPath(key).relative_to(prefix)
        if not (model_only and path.parts[0] == TRAINER_STATE):
            blobs.get_to(key, draft / path)
    draft.rename(target)


def _upload_file(blobs: BlobStore, path: Path, folder: Path, prefix: str) -> CheckpointFile:
    relative = path.relative_to(folder).as_posix()
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    blobs.put_file(f"{prefix}/{relative}", path)
    return {"path": relative, "bytes": path.stat().st_size, "sha256": sha256}
