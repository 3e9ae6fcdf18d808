"""Checkpoint folders, to the blob store and back."""

import hashlib
import json
import shutil
from pathlib import Path, PurePosixPath

from core.blobs import BlobStore
from core.errors import NotFound
from core.jobs.checkpoints import File

BEST = "best.json"
"""In the folder of a stage's best checkpoint: which step's it is."""
TRAINER_STATE = "trainer_state"
"""Of a checkpoint, what only a resume needs: the optimizers, the critic."""


def upload(blobs: BlobStore, folder: Path, prefix: str) -> list[File]:
    """Store every file of a folder under `prefix/` and say what they are.

    Raises FileNotFoundError if the trainer removes the folder meanwhile, or puts another in its place: no checkpoint is
    made of two.
    """
    before = folder.stat().st_ino
    files = [_upload_file(blobs, path, folder, prefix) for path in sorted(folder.rglob("*")) if path.is_file()]
    if folder.stat().st_ino != before:
        raise FileNotFoundError(f"{folder} was replaced")
    return files


def refuse_another(folder: Path, step: int) -> None:
    """Raise FileNotFoundError if the folder of the best one holds that of another step: its own event is to come."""
    best = folder / BEST
    if best.exists() and json.loads(best.read_text())["step"] != step:
        raise FileNotFoundError(f"{folder} holds another step")


def download(blobs: BlobStore, prefix: str, target: Path, *, model_only: bool = False) -> None:
    """Bring a folder back. It appears whole, as the trainer expects of a checkpoint. `model_only`: to start from, not to resume."""
    draft = target.with_name(f".incoming-{target.name}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    keys = list(blobs.list(prefix))
    if not keys:
        raise NotFound(f"There is nothing left of {prefix} in the blob store.")
    for key in keys:
        path = PurePosixPath(key).relative_to(prefix)
        if not (model_only and path.parts[0] == TRAINER_STATE):
            blobs.get_to(key, draft / path)
    draft.rename(target)


def _upload_file(blobs: BlobStore, path: Path, folder: Path, prefix: str) -> File:
    relative = path.relative_to(folder).as_posix()
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    blobs.put_file(f"{prefix}/{relative}", path)
    return {"path": relative, "bytes": path.stat().st_size, "sha256": sha256}
