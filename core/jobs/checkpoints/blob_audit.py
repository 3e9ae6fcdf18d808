"""Checks every stored blob that has a SHA-256, marks the damaged ones, and clears the marks of restored ones."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Select, func, literal, select
from sqlalchemy.orm import Session

from core.blobs import BlobStore, Content, fault_of
from core.datasets import damage as row_damage
from core.datasets import number_files, reports, row_store, rows
from core.db import session_scope
from core.errors import PlatformError, StorageUnreadable
from core.jobs.checkpoints import damage
from core.models import (
    AnnotationPin,
    Checkpoint,
    CheckpointPin,
    DatasetContent,
    DatasetReport,
    DatasetVersion,
    JobDataset,
    Upload,
)
from core.models.uploads import UploadStatus
from core.uploads import reading

Progress = Callable[[int, int], None]
"""Called with the bytes that are checked and the bytes of all blobs."""
Check = Callable[[Session, BlobStore, str], "Iterator[BlobFault | str]"]
"""Yields the faults of one checkpoint, content, version, report or upload, and the ids of those that are good again."""


@dataclass(frozen=True)
class BlobFault:
    """A checkpoint, the rows of datasets or an upload whose stored bytes are wrong or cannot be read."""

    of: str
    """The id of the checkpoint or of the upload, or the SHA-256 of the rows."""
    fault: str
    used_by: list[str]
    """Jobs, versions of datasets and rounds that refer to it."""
    damaged: bool
    """False if the disk did not return the bytes, which may be good."""


@dataclass(frozen=True)
class BlobAudit:
    """The result of a check of all blobs."""

    checked: int
    bytes: int
    faults: list[BlobFault]
    restored: list[str]
    """Those that were marked as damaged, and are good again."""


def audit(blobs: BlobStore, database_url: str, progress: Progress = lambda done, total: None) -> BlobAudit:
    """Read every blob once. Each checkpoint, content and upload is handled in a transaction of its own."""
    with session_scope(database_url) as session:
        sizes = [
            session.scalars(select(func.coalesce(func.sum(kind.bytes), 0))).one()
            for kind in (Checkpoint, DatasetContent, Upload)
        ]
        complete = select(Upload.id, Upload.bytes).where(Upload.status == UploadStatus.COMPLETE.value)
        none = literal(0)
        queries: list[tuple[Check, Select[str, int | None]]] = [
            (_checkpoint, select(Checkpoint.id, Checkpoint.bytes).order_by(Checkpoint.id)),
            (_content, select(DatasetContent.sha256, DatasetContent.bytes)),
            (_version, select(DatasetVersion.id, none).where(DatasetVersion.number_files != {})),
            (_report, select(DatasetReport.id, none).where(DatasetReport.number_files != {})),
            (_upload, complete.order_by(Upload.id)),
        ]
        found_by = [(check, list(session.execute(query))) for check, query in queries]
    faults: list[BlobFault] = []
    restored: list[str] = []
    checked = done = 0
    total = sum(int(size or 0) for size in sizes)
    for check, targets in found_by:
        for id_, size in targets:
            with session_scope(database_url) as session:
                for found in check(session, blobs, id_):
                    restored.append(found) if isinstance(found, str) else faults.append(found)
            checked, done = checked + 1, done + int(size or 0)
            progress(done, total)
    return BlobAudit(checked, done, faults, restored)


def _checkpoint(session: Session, blobs: BlobStore, checkpoint_id: str) -> Iterator[BlobFault | str]:
    """Yields a fault, or the id of one that is good again. A checkpoint that retention has deleted meanwhile yields nothing."""
    row = session.get(Checkpoint, checkpoint_id)
    if row is None:
        return
    try:
        fault = damage.fault_of_checkpoint(blobs, row, read_all=True)
    except StorageUnreadable as error:
        yield BlobFault(checkpoint_id, error.detail, _users_of_checkpoint(session, row), damaged=False)
        return
    if fault is not None:
        if damage.mark(session, checkpoint_id, fault, "It is not used.") is None:
            return
        yield BlobFault(checkpoint_id, fault, _users_of_checkpoint(session, row), damaged=True)
    elif row.damage is not None:
        row.damage = row.damaged_at = None
        yield checkpoint_id


def _content(session: Session, blobs: BlobStore, sha256: str) -> Iterator[BlobFault | str]:
    row = session.get(DatasetContent, sha256)
    if row is None:
        return
    try:
        fault = fault_of(blobs, row.blob_key, Content(row.bytes, row.sha256))
    except StorageUnreadable as error:
        yield BlobFault(sha256, error.detail, _users_of_rows(session, sha256), damaged=False)
        return
    if fault is not None:
        row_damage.mark(session, sha256, fault)
        yield BlobFault(sha256, f"rows.jsonl {fault}", _users_of_rows(session, sha256), damaged=True)
    elif row.damage is not None:
        row.damage = row.damaged_at = None
        yield sha256
    if fault is None:
        yield from _index(session, blobs, row)


def _index(session: Session, blobs: BlobStore, row: DatasetContent) -> Iterator[BlobFault]:
    """Offsets that are damaged, or have no hash, are made anew from the good rows."""
    key = row_store.index_key(row.sha256)
    if row.number_files is None:
        rows.write_index(blobs, row)
    for found in _number_files(blobs, row.sha256, row.number_files, {row_store.INDEX: key}):
        if found.damaged:
            rows.write_index(blobs, row)
            found = replace(found, fault=f"{found.fault} It was made anew")
        yield replace(found, used_by=_users_of_rows(session, row.sha256))


def _version(session: Session, blobs: BlobStore, version_id: str) -> Iterator[BlobFault | str]:
    row = session.get(DatasetVersion, version_id)
    if row is not None:
        keys = {rows.LINES: rows.lines_key(row.id), rows.ANSWER_LINES: rows.answer_lines_key(row.id)}
        yield from _number_files(blobs, f"{row.dataset_id}@{row.number}", row.number_files, keys)


def _report(session: Session, blobs: BlobStore, report_id: str) -> Iterator[BlobFault | str]:
    row = session.get(DatasetReport, report_id)
    if row is not None:
        keys = {code: reports.rows_key(row.id, code) for code in row.number_files or {}}
        yield from _number_files(blobs, row.id, row.number_files, keys)


def _number_files(
    blobs: BlobStore, of: str, sums: number_files.Sums | None, keys: Mapping[str, str]
) -> Iterator[BlobFault]:
    """The faults of files, which have no mark. The next reader finds the same damage."""
    for name, content in (sums or {}).items():
        try:
            if fault := number_files.fault_in(blobs, keys[name], content):
                yield BlobFault(of, f"{keys[name]} {fault}.", [], damaged=True)
        except StorageUnreadable as error:
            yield BlobFault(of, error.detail, [], damaged=False)


def _upload(session: Session, blobs: BlobStore, upload_id: str) -> Iterator[BlobFault | str]:
    """An upload has no mark: an import of it finds the same damage."""
    row = session.get(Upload, upload_id)
    if row is None:
        return
    try:
        reading.verify(blobs, row)
    except OSError as error:
        yield BlobFault(upload_id, f"cannot be read: {error.strerror or error}", [], damaged=False)
    except PlatformError as error:
        yield BlobFault(upload_id, error.detail, [], damaged=True)


def _users_of_checkpoint(session: Session, row: Checkpoint) -> list[str]:
    jobs = session.scalars(select(CheckpointPin.job_id).filter_by(checkpoint_id=row.id).distinct())
    rounds = session.scalars(select(AnnotationPin.round_id).filter_by(checkpoint_id=row.id).distinct())
    return [row.job_id, *sorted(jobs), *sorted(rounds)]


def _users_of_rows(session: Session, sha256: str) -> list[str]:
    query = select(JobDataset.job_id).join(DatasetVersion, DatasetVersion.id == JobDataset.version_id)
    jobs = session.scalars(query.where(DatasetVersion.sha256 == sha256).distinct())
    return [*row_damage.holders(session, sha256), *sorted(jobs)]
