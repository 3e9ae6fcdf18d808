"""Files of numbers beside the rows: the offsets of rows, their lines in the source, and the rows of a report's findings.

The owner of a file, which is a content, a version or a report, has its size and SHA-256 by its name.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.blobs import BlobStore, Content, fault_of
from core.errors import DatasetDamaged

Sums = Mapping[str, Mapping[str, Any]]
_ADVICE = "It is not used. An operator can restore the file from a backup. Or import the data as a new version."


def put(blobs: BlobStore, key: str, source: Path) -> dict[str, Any]:
    """Store a file. Returns its size and hash for the row of its owner. Raises DiskFull."""
    stored = blobs.put_file(key, source)
    return {"bytes": stored.bytes, "sha256": stored.sha256}


def sum_of(blobs: BlobStore, key: str) -> dict[str, Any]:
    """Size and hash of a stored file."""
    with blobs.open(key) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # a buffered file
        return {"bytes": file.tell(), "sha256": sha256}


def is_stored(blobs: BlobStore, key: str, sums: Sums | None, name: str) -> bool:
    """Whether the owner has a file of this name.

    `sums` are None for an owner of before hashes were stored, whose file is not verified. Raises DatasetDamaged and
    StorageUnreadable.
    """
    if sums is None:
        return blobs.exists(key)
    if name not in sums:
        return False
    if fault := fault_in(blobs, key, sums[name]):
        raise DatasetDamaged(f"{key} is damaged: it {fault}. {_ADVICE}")
    return True


def fault_in(blobs: BlobStore, key: str, content: Mapping[str, Any]) -> str | None:
    """The fault of a file's content; None if it is what was stored. Raises StorageUnreadable."""
    return fault_of(blobs, key, Content(content["bytes"], content["sha256"]))
