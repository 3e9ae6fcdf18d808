"""Blobs of datasets and uploads that no row knows: of a transaction that failed at its end, or of a process that was killed."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets.row_store import remove_orphan
from core.db import session_scope
from core.models import DatasetContent, DatasetReport, DatasetVersion, Upload

_OWNERS: dict[str, Any] = {
    "contents": DatasetContent.sha256,
    "versions": DatasetVersion.id,
    "reports": DatasetReport.id,
    "uploads": Upload.id,
}
"""Of what is below each of these folders, the column that its next name must stand in."""
_OLD = "datasets"
"""Where datasets from before there were versions lie, each in a blob that its content names."""
_AT_A_TIME = 1000


def remove_orphans(blobs: BlobStore, suspects: set[str]) -> set[str]:
    """Remove those of `suspects` that still nobody knows; answer whom to suspect the next time.

    Twice, since the row of a blob is committed a while after the blob is there. And what was never finished goes.
    """
    blobs.clear_abandoned()
    found = set()
    with session_scope() as session:
        for folder, column in _OWNERS.items():
            names = sorted({key.split("/")[1] for key in blobs.list(folder)})
            found |= {f"{folder}/{name}" for name in _unknown(session, names, column)}
        found |= set(_unknown(session, list(blobs.list(_OLD)), DatasetContent.blob_key))
    for place in sorted(found & suspects):
        _remove(blobs, place)
    return found - suspects


def _unknown(session: Session, names: Sequence[str], column: Any) -> Iterator[str]:
    for start in range(0, len(names), _AT_A_TIME):
        some = names[start : start + _AT_A_TIME]
        known = set(session.scalars(select(column).where(column.in_(some))))
        yield from (name for name in some if name not in known)


def _remove(blobs: BlobStore, place: str) -> None:
    folder, _, name = place.partition("/")
    if folder == "contents":
        with session_scope() as session:  # whoever stores the same rows at this moment goes before or after
            remove_orphan(session, blobs, name)
    elif folder == _OLD:
        blobs.delete(place)
    else:
        blobs.delete_prefix(place)
