"""The folder of a backup, and its manifest, which is written last. A folder without one holds no finished backup."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import PlatformError

FORMAT = 1
_NAME = "manifest.json"
_PIECE = 1024 * 1024
Note = Callable[[str], None]
"""Called with a line of progress."""


class BackupError(PlatformError):
    """A backup cannot be made, or cannot be restored. The detail has the reason."""

    status = 409
    code = "backup_failed"
    title = "The backup cannot be used."


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredTable(_Part):
    """The rows of a table: the text form of PostgreSQL's COPY, compressed with zstd."""

    file: str
    """Path in the folder of the backup."""
    columns: list[str]
    rows: int
    bytes: int
    """Size of the file."""
    sha256: str
    """Hash of the file."""


class StoredBlob(_Part):
    """A blob, whose file in the backup is named by its hash."""

    bytes: int
    sha256: str

    @property
    def file(self) -> str:
        return f"blobs/{self.sha256[:2]}/{self.sha256}"


class Manifest(_Part):
    """The description of a whole backup."""

    format: int = FORMAT
    version: str
    """Version of the platform that made it."""
    revision: str
    """Revision of the database's schema."""
    created_at: str
    """Time of the snapshot of the database, in RFC 3339."""
    tables: dict[str, StoredTable]
    blobs: dict[str, StoredBlob]
    """By the key in the blob store."""
    faults: list[str] = []
    """Blobs that the database names and the store did not have, or had with another content."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    @property
    def blob_bytes(self) -> int:
        return sum(blob.bytes for blob in self.blobs.values())


def has_manifest(folder: Path) -> bool:
    return (folder / _NAME).is_file()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step. From then on the backup counts."""
    plain = manifest.model_dump()
    draft = folder / f"{_NAME}.draft"
    draft.write_text(json.dumps({**plain, "sha256": _sum_of(plain)}, indent=1), encoding="utf-8")
    draft.replace(folder / _NAME)


def read_manifest(folder: Path) -> Manifest:
    """Raises BackupError for a manifest that is missing, damaged or of another format."""
    if not has_manifest(folder):
        raise BackupError(f"{folder} has no {_NAME}: it is no backup, or one that was not finished.")
    try:
        content = json.loads((folder / _NAME).read_bytes())
        expected = content.pop("sha256", None)
        manifest = Manifest.model_validate(content)
    except (ValueError, AttributeError, ValidationError) as error:
        raise BackupError(f"{_NAME} is damaged: {str(error).splitlines()[0]}") from error
    if manifest.format != FORMAT:
        raise BackupError(f"{_NAME} has the format {manifest.format}, and this version reads {FORMAT}.")
    if expected != _sum_of(manifest.model_dump()):
        raise BackupError(f"{_NAME} is damaged: its content does not have the SHA-256 that it names.")
    return manifest


def verify(folder: Path, manifest: Manifest, note: Note) -> None:
    """Read every file of the backup. Raises BackupError with the names of those that are missing or damaged."""
    tables = [(f"table {name}", table.file, table) for name, table in manifest.tables.items()]
    blobs = {blob.file: (f"blob {key}", blob.file, blob) for key, blob in manifest.blobs.items()}
    faults = list(_faults(folder, [*tables, *blobs.values()]))
    if faults:
        shown = "; ".join(faults[:10]) + (f"; and {len(faults) - 10} more" if len(faults) > 10 else "")
        raise BackupError(f"{folder} is damaged: {shown}.")
    note(f"{len(tables)} tables and {len(blobs)} files of blobs have the hashes of the manifest")


def _faults(folder: Path, parts: list[Any]) -> Iterator[str]:
    for name, file, expected in parts:
        path = folder / file
        if not path.is_file():
            yield f"{name} is missing ({file})"
        elif (size := path.stat().st_size) != expected.bytes:
            yield f"{name} has {size} bytes instead of {expected.bytes} ({file})"
        elif sha256_of(path) != expected.sha256:
            yield f"{name} has another SHA-256 than the manifest ({file})"


def sha256_of(path: Path) -> str:
    """The hash of a file, read piece by piece."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _sum_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
