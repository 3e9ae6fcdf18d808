"""Copies checkpoint folders to the blob store and back, and verifies what it copies."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from core.blobs import NOT_MOUNTED, BlobDamaged, BlobStore
from core.errors import NotFound
from core.jobs.checkpoints.checkpoints import CheckpointFile
from core.jobs.checkpoints.damage import content_of
from core.models import Checkpoint

BEST = "best.json"
"""The file in the folder of a stage's best checkpoint that names its step."""
TRAINER_STATE = "trainer_state"
"""The part of a checkpoint that only a resume needs: the optimizers, the critic."""
MANIFEST = "manifest.json"
"""The file in which the trainer lists the size and SHA-256 of the others."""


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint as its row describes it."""

    id: str
    blob_prefix: str
    files: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, row: Checkpoint) -> Self:
        return cls(row.id, row.blob_prefix, tuple(row.files))


class DamagedCheckpoint(Exception):
    """A stored checkpoint does not have the files that were saved. `fault` names the first one."""

    def __init__(self, checkpoint_id: str, fault: str) -> None:
        super().__init__(f"{checkpoint_id}: {fault}")
        self.checkpoint_id = checkpoint_id
        self.fault = fault


class DamagedFolder(Exception):
    """The files of a folder are not those that the trainer wrote. The text names the first one."""


def upload(blobs: BlobStore, folder: Path, prefix: str) -> list[CheckpointFile]:
    """Store every file of a folder under `prefix/`. Returns their paths, sizes and hashes.

    Raises FileNotFoundError if the trainer removes or replaces the folder meanwhile, and DamagedFolder for a file that is not
    the one in the trainer's manifest.
    """
    before = folder.stat().st_ino
    listed = _listed(folder)
    files = [_upload_file(blobs, path, folder, prefix) for path in sorted(folder.rglob("*")) if path.is_file()]
    if folder.stat().st_ino != before:
        raise FileNotFoundError(f"{folder} was replaced")
    if fault := _difference(listed, {file["path"]: file["sha256"] for file in files if file["path"] != MANIFEST}):
        raise DamagedFolder(fault)
    return files


def _difference(listed: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """The first difference between the hashes in the trainer's manifest and those of the files that were stored."""
    for path in sorted(listed.keys() | found.keys()):
        if path not in found:
            return f"{path} is missing"
        if path not in listed:
            return f"{path} is not in {MANIFEST}"
        if found[path] != listed[path]:
            return f"{path} has the SHA-256 {found[path]} instead of {listed[path]}"
    return None


def _listed(folder: Path) -> dict[str, str]:
    """The hashes in the trainer's manifest."""
    try:
        return {file["path"]: file["sha256"] for file in json.loads((folder / MANIFEST).read_text())["files"]}
    except FileNotFoundError as error:
        if not folder.exists():
            raise
        raise DamagedFolder(f"{MANIFEST} is missing") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFolder(f"{MANIFEST} is not readable: {error}") from error


def check_step(folder: Path, step: int) -> None:
    """Raises FileNotFoundError if a best-checkpoint folder holds another step. That step has an event of its own."""
    best = folder / BEST
    if best.exists() and json.loads(best.read_text())["step"] != step:
        raise FileNotFoundError(f"{folder} holds another step")


def download(
    blobs: BlobStore, stored: StoredCheckpoint, target: Path, *, model_only: bool = False, weights: bool = True
) -> None:
    """Fetch a folder. It appears under its name once it is complete and verified. `model_only`: without the state for a resume.

    `weights`: also its tensors. Raises NotFound for a checkpoint without files, DamagedCheckpoint, and OSError where the store does not return the bytes.
    """
    if not stored.files:
        raise NotFound(f"The blob store has no files below {stored.blob_prefix}.")
    draft = target.with_name(f".incoming-{target.name}")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for file in stored.files:
        path = PurePosixPath(file["path"])
        if (model_only and path.parts[0] == TRAINER_STATE) or not (weights or path.suffix != ".safetensors"):
            continue
        try:
            blobs.get_to(f"{stored.blob_prefix}/{file['path']}", draft / file["path"], content_of(file))
        except NotFound as error:
            if blobs.is_empty():
                raise OSError(NOT_MOUNTED) from error
            raise DamagedCheckpoint(stored.id, f"{file['path']} is missing") from error
        except BlobDamaged as error:
            raise DamagedCheckpoint(stored.id, f"{file['path']} {error}") from error
    draft.rename(target)


def _upload_file(blobs: BlobStore, path: Path, folder: Path, prefix: str) -> CheckpointFile:
    """Store a file, with the hash of the bytes that are stored."""
    relative = path.relative_to(folder).as_posix()
    stored = blobs.put_file(f"{prefix}/{relative}", path)
    file: CheckpointFile = {"path": relative, "bytes": stored.bytes, "sha256": stored.sha256}
    return file if stored.stamp is None else {**file, "stamp": stored.stamp}
