"""Checkpoint folders, to the blob store and back."""

import hashlib
import shutil
from pathlib import Path, PurePosixPath

from core.blobs import BlobStore
from core.jobs.checkpoints import File


def upload(blobs: BlobStore, folder: Path, prefix: str) -> list[File]:
    """Store every file of a folder under `prefix/` and say what they are."""
    return [_upload_file(blobs, path, folder, prefix) for path in sorted(folder.rglob("*")) if path.is_file()]


def download(blobs: BlobStore, prefix: str, parent: Path) -> None:
    """Bring a folder back under its own name. It appears whole, as the trainer expects of a checkpoint."""
    name = PurePosixPath(prefix).name
    draft = parent / f".incoming-{name}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for key in blobs.list(prefix):
        blobs.get_to(key, draft / PurePosixPath(key).relative_to(prefix))
    draft.rename(parent / name)


def _upload_file(blobs: BlobStore, path: Path, folder: Path, prefix: str) -> File:
    relative = path.relative_to(folder).as_posix()
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    blobs.put_file(f"{prefix}/{relative}", path)
    return {"path": relative, "bytes": path.stat().st_size, "sha256": sha256}
