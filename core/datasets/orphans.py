"""Removes blobs of datasets, uploads and jobs without a database row, which failed transactions and killed processes leave."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blobs import BlobStore
from core.datasets.row_store import remove_orphan
from core.db import session_scope
from core.models import Checkpoint, DatasetContent, DatasetReport, DatasetVersion, Job, Upload
from core.models.jobs import TERMINAL

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
_DEPTH = 4
"""Parts of a prefix of `core.jobs.checkpoints.checkpoints.checkpoint_prefix` without the folder: each checkpoint has its own."""


def remove_orphans(blobs: BlobStore, suspects: set[str]) -> set[str]:
    """Remove the blobs in `suspects` that still have no row. Returns the suspects of the next call.

    Two calls are needed because the row of a blob is committed after the blob is written. Unfinished blobs are removed too.
    """
    blobs.clear_abandoned()
    orphans = set()
    with session_scope() as session:
        for folder, column in _OWNERS.items():
            names = sorted({key.split("/")[1] for key in blobs.list(folder)})
            orphans |= {f"{folder}/{name}" for name in _unknown(session, names, column)}
        orphans |= set(_unknown(session, list(blobs.list(_OLD)), DatasetContent.blob_key))
        orphans |= _unknown_checkpoints(session, list(blobs.list("jobs")))
    for place in sorted(orphans & suspects):
        _remove(blobs, place)
    return orphans - suspects


def _unknown(session: Session, names: Sequence[str], column: Any) -> Iterator[str]:
    for start in range(0, len(names), _AT_A_TIME):
        some = names[start : start + _AT_A_TIME]
        known = set(session.scalars(select(column).where(column.in_(some))))
        yield from (name for name in some if name not in known)


def _unknown_checkpoints(session: Session, keys: Sequence[str]) -> set[str]:
    """Prefixes of checkpoints without a row, of jobs that have ended: no worker is storing them any more."""
    stored = {"/".join(key.split("/")[:_DEPTH]) for key in keys if key.split("/")[2] == "checkpoints"}
    jobs = sorted({prefix.split("/")[1] for prefix in stored})
    ended, known = set[str](), set[str]()
    for start in range(0, len(jobs), _AT_A_TIME):
        some = jobs[start : start + _AT_A_TIME]
        ended |= set(session.scalars(select(Job.id).where(Job.id.in_(some), Job.status.in_(TERMINAL))))
        rows = session.scalars(select(Checkpoint.blob_prefix).where(Checkpoint.job_id.in_(some)))
        known |= {"/".join(prefix.split("/")[:_DEPTH]) for prefix in rows}
    return {prefix for prefix in stored - known if prefix.split("/")[1] in ended}


def _remove(blobs: BlobStore, place: str) -> None:
    folder, _, name = place.partition("/")
    if folder == "contents":
        with session_scope() as session:  # serialised with a transaction that stores the same rows
            remove_orphan(session, blobs, name)
    elif folder == _OLD:
        blobs.delete(place)
    else:
        blobs.delete_prefix(place)
