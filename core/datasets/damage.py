"""Refuses and records damaged rows. Importing the same rows again stores them anew."""

import logging

from sqlalchemy import func, select
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from core.blobs import BlobStore, Content, fault_of
from core.db import session_scope
from core.errors import DatasetDamaged
from core.models import DatasetContent, DatasetVersion

log = logging.getLogger(__name__)
_ADVICE = (
    "They are not used. Import the same file again: that stores them anew, for every version that holds them. Where no file has "
    "these rows, as after annotation, an operator can restore rows.jsonl from a backup; `proximal doctor --blobs` then clears the mark."
)


def verify_rows(blobs: BlobStore, content: DatasetContent) -> None:
    """Raise DatasetDamaged if the stored rows are not those that were imported, and record it.

    The rows are hashed once as long as their blob is not written. Raises StorageUnreadable.
    """
    fault = content.damage or fault_of(blobs, content.blob_key, Content(content.bytes, content.sha256))
    if fault is None:
        return
    if content.damage is None:
        _mark_now(content.sha256, fault)
    raise DatasetDamaged(_described(content.sha256, fault))


def refuse_marked(version: DatasetVersion) -> None:
    """Raise DatasetDamaged for a version whose rows are known to be damaged."""
    if version.content is not None and version.content.damage is not None:
        which = f"{version.dataset_id}@{version.number}"
        raise DatasetDamaged(_described(version.content.sha256, version.content.damage, which))


def mark(session: Session, sha256: str, fault: str) -> str:
    """Record the damage of rows. Returns a description that names the versions that hold them."""
    content = session.get(DatasetContent, sha256, with_for_update={"key_share": True}, populate_existing=True)
    if content is not None and content.damage is None:
        content.damage, content.damaged_at = fault, func.clock_timestamp()
        session.flush()
    return _described(sha256, fault, ", ".join(holders(session, sha256)))


def holders(session: Session, sha256: str) -> list[str]:
    """The versions that hold these rows, as `ds_…@2`."""
    query = select(DatasetVersion).filter_by(sha256=sha256).order_by(DatasetVersion.dataset_id, DatasetVersion.number)
    return [f"{version.dataset_id}@{version.number}" for version in session.scalars(query)]


def _described(sha256: str, fault: str, which: str = "") -> str:
    of = f" of {which}" if which else ""
    return f"The stored rows{of} (SHA-256 {sha256}) are damaged: rows.jsonl {fault}. {_ADVICE}"


def _mark_now(sha256: str, fault: str) -> None:
    """Mark in a transaction of its own: that of the reader is rolled back. Without the database, the next reader finds it again."""
    try:
        with session_scope() as session:
            mark(session, sha256, fault)
    except (OperationalError, InterfaceError) as error:
        log.warning("could not record the damage of the rows %s: %s", sha256, error)
