"""Publishes a version: stores its rows, and queues its search index and its report."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core import quotas
from core.blobs import BlobStore
from core.datasets import number_files, reports, row_store, search, versions
from core.datasets.row_store import RowsDraft
from core.datasets.rows import ANSWER_LINES, LINES, answer_lines_key, lines_key
from core.errors import NotFound
from core.models import Dataset, DatasetContent, DatasetVersion
from core.models.datasets import VersionStatus
from core.settings import get_settings
from core.webhooks import outbox
from core.webhooks.event_types import EventType, dataset_data
from data.parse import storable

_PIECE = 1024 * 1024


def publish_version(
    session: Session,
    blobs: BlobStore,
    version_id: str,
    draft: RowsDraft,
    *,
    findings: Sequence[dict[str, Any]] = (),
    left_out: int = 0,
    blocked: bool = False,
) -> DatasetVersion:
    """Store the draft's rows as the version's. The version becomes ready, or `blocked` until the user
    decides about a finding.

    A version that is no longer importing is left unchanged. Raises NotFound if the dataset was deleted, and QuotaExceeded.
    The draft must have rows.
    """
    # Lock order: dataset, task, version, content. Every function that locks several of them keeps it.
    query = select(DatasetVersion).filter_by(id=version_id).with_for_update(of=DatasetVersion)
    version = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if version is None:
        raise NotFound("The dataset was deleted meanwhile.")
    if version.status != VersionStatus.IMPORTING:
        return version
    content = row_store.put(session, blobs, draft)
    version.number_files = {
        name: number_files.put(blobs, key, file)
        for name, key, file, own in (
            (LINES, lines_key(version.id), draft.lines_file, draft.own_lines),
            (ANSWER_LINES, answer_lines_key(version.id), draft.answer_lines_file, draft.own_answer_lines),
        )
        if own
    }
    version.findings, version.left_out = storable(list(findings)), left_out
    _settle(session, version, content, VersionStatus.BLOCKED if blocked else VersionStatus.READY)
    quotas.check_storage(session, version.dataset.owner_id, get_settings())
    return version


def same_rows(session: Session, blobs: BlobStore, parent: DatasetVersion, origin: dict[str, Any]) -> DatasetVersion:
    """A ready version with the rows of `parent`, whose findings the user has decided about. `parent` must have rows."""
    assert parent.content is not None
    dataset = session.get_one(Dataset, parent.dataset_id)
    version = versions.new_version(session, dataset, origin, parent)
    version.number_files = parent.number_files
    for name, key in ((LINES, lines_key), (ANSWER_LINES, answer_lines_key)):
        if number_files.is_stored(blobs, key(parent.id), parent.number_files, name):
            with blobs.open(key(parent.id)) as lines, blobs.draft(key(version.id)) as copy:
                while piece := lines.read(_PIECE):
                    copy.write(piece)
                copy.keep()
    version.findings = decided(parent.findings)
    version.left_out = parent.left_out
    _settle(session, version, parent.content, VersionStatus.READY)
    return version


def decided(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings with blocking ones as warnings without a fix, for rows that were left out."""
    return [
        finding | {"severity": "warning", "fix": None} if finding["severity"] == "blocking" else finding
        for finding in findings
    ]


def _settle(session: Session, version: DatasetVersion, content: DatasetContent, status: VersionStatus) -> None:
    version.sha256, version.status = content.sha256, status.value
    version.ready_at = datetime.now(UTC) if status is VersionStatus.READY else None
    session.flush()
    session.refresh(version)
    search.request(session, version)
    reports.request(session, version)
    if status is VersionStatus.READY:
        dataset = session.get_one(Dataset, version.dataset_id)
        outbox.record(
            session, dataset.owner_id, EventType.DATASET_READY, dataset.id, lambda: dataset_data(dataset, version)
        )
