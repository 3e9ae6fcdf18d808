"""Removes blobs of datasets, uploads and jobs without a database row, which failed transactions and killed processes leave."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets.row_store import remove_orphan
from core.db import session_scope
from core.models import DatasetContent, DatasetReport, DatasetVersion, Job, Upload

_OWNERS: dict[str, Any] = {
    "contents": DatasetContent.sha256,
    "versions": DatasetVersion.id,
    "reports": DatasetReport.id,
    "uploads": Upload.id,
    "jobs": Job.id,
}
"""For each folder, the column that must hold the next part of a blob's key."""
_OLD = "datasets"
"""The folder of datasets from before versions existed. Each content names its blob."""
_AT_A_TIME = 1000


def remove_orphans(blobs: BlobStore, suspects: set[str]) -> set[str]:
    """Remove the blobs in `suspects` that still have no row. Returns the suspects of the next call.

    Two calls are needed because the row of a blob is committed after the blob is written. Unfinished blobs are removed too.
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
        with session_scope() as session:  # serialised with a transaction that stores the same rows
            remove_orphan(session, blobs, name)
    elif folder == _OLD:
        blobs.delete(place)
    else:
        blobs.delete_prefix(place)
