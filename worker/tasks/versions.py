"""Data tasks that make a dataset version: from an upload, by the fixes of a report, or from the answers of a round."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.annotation import closing
from core.blobs import BlobStore
from core.datasets import fixes, number_files, publish, reports, row_store, rows, u64
from core.datasets.importing import BadRows, Source, imported, limits_of
from core.datasets.row_store import RowWriter
from core.db import session_scope
from core.errors import InvalidDataset, NotFound
from core.models import AnnotationRound, DatasetReport, DatasetVersion
from core.models.annotation import RoundStatus
from core.models.datasets import VersionStatus
from core.uploads import store
from core.uploads.reading import opener, verify
from data.errors import RowError
from data.plan import Plan
from data.schema import DatasetKind, Row, canonical
from data.strips import WHITE_SPACE, Strip, answers_differ, strips
from worker.tasks.context import TaskContext

_NUMBERS_PER_READ = 65536
_ROWS_PER_REPORT = 1000
_WRITTEN = 0.95
"""Share of the progress for reading and writing rows. The rest is for storing them."""
_DROPPED = 1
"""The bit of a row that is left out. The bits of the text changes follow."""


def import_upload(task: TaskContext) -> None:
    """The task `import`: read an upload into the version that waits for it. An error fails the version."""
    with session_scope() as session:
        version = session.get(DatasetVersion, task.args["version"])
        if version is None or version.status != VersionStatus.IMPORTING:
            return  # deleted, or made by an attempt that was lost after its commit
        upload = store.get(session, task.owner_id, task.args["upload"])
        source = Source(opener(task.blobs, upload), upload.filename, upload.id, upload.url)
    verify(task.blobs, upload)
    size = max(upload.bytes or 0, 1)
    plan, bad_rows = Plan.from_json(task.args["plan"]), BadRows(task.args["bad_rows"])

    def progress(read: int) -> None:
        task.report(read / size, f"{read:,} of {size:,} bytes are read")

    limits = limits_of(task.settings)
    with imported(source, plan, bad_rows, limits, task.scratch, progress) as found, session_scope() as session:
        task.require_held(session)  # locks are taken in the order task, version
        found.fill(session, task.blobs, task.args["version"])
        task.finish(session)  # in the same transaction: a user who sees the version ready may delete the upload


def write_answers(task: TaskContext) -> None:
    """The task `annotation_close`: write the answers of a round into a version. After an error the round can be closed again."""
    round_id, parent_id = task.args["round"], task.args["parent"]
    with session_scope() as session:
        round_ = session.get(AnnotationRound, round_id)
        parent = session.get(DatasetVersion, parent_id) if parent_id else None
    if round_ is None or round_.status != RoundStatus.CLOSING:
        return
    if parent_id and parent is None:
        raise NotFound("The version that the answers were to be appended to has been deleted.")
    last = 0
    with row_store.drafting(task.scratch) as out:
        if parent is not None:
            total = parent.content.rows if parent.content else 1
            for stored in rows.stream(task.blobs, parent):
                last = stored.line
                out.add(last, stored.row)
                if stored.number % _ROWS_PER_REPORT == 0:
                    task.report(0.9 * stored.number / total, f"Row {stored.number:,} of {total:,} is copied")
        with session_scope() as session:
            for line, row in enumerate(closing.answered_rows(session, round_id), last + 1):
                out.add(line, row)
        draft = out.finish()
        with session_scope() as session:
            version = publish.publish_version(session, task.blobs, task.args["version"], draft)
            closing.finish(session, round_id, version)


@dataclass
class FixCounts:
    """Numbers of rows that the fixes left out and changed."""

    dropped: int = 0
    changed: int = 0


def apply_fixes(task: TaskContext) -> None:
    """The task `fix`: write the parent's rows again, without dropped rows and with the texts of others changed."""
    with session_scope() as session:
        parent = session.get(DatasetVersion, task.args["parent"])
        report = session.get(DatasetReport, task.args["report"])
    if parent is None or report is None or report.result is None:
        raise NotFound("The dataset has been deleted meanwhile.")
    codes = list(task.args["findings"])
    dropping = [code for code in codes if fixes.fix_of(report.result, code) == fixes.DROP]
    changes = strips([code for code in codes if code not in dropping], report.result["special_tokens"])
    with row_store.drafting(task.scratch) as out:
        marks = _row_marks(task.blobs, report, parent, dropping, list(changes))
        counts = _write_fixed(task, parent, marks, changes, out)
        draft = out.finish()
        if not draft.rows:
            raise InvalidDataset("The fixes would leave no row.", param="findings")
        task.report(_WRITTEN, "storing rows")
        with session_scope() as session:
            made = session.get(DatasetVersion, task.args["version"])
            if made is not None and made.status == VersionStatus.IMPORTING:
                made.origin = made.origin | {"dropped": counts.dropped, "changed": counts.changed}
            findings = publish.decided(parent.findings)
            publish.publish_version(
                session, task.blobs, task.args["version"], draft, findings=findings, left_out=parent.left_out
            )


def _row_marks(
    blobs: BlobStore, report: DatasetReport, parent: DatasetVersion, dropping: list[str], changing: list[str]
) -> bytearray:
    """One byte for each row, with the bits of the fixes that concern it. Raises DatasetDamaged."""
    assert parent.content is not None
    marks = bytearray(parent.content.rows)
    for code in dropping + changing:
        bit = _DROPPED if code in dropping else _DROPPED << 1 + changing.index(code)
        for number in _row_numbers(blobs, report, code):
            marks[number - 1] |= bit
    return marks


def _row_numbers(blobs: BlobStore, report: DatasetReport, code: str) -> Iterator[int]:
    key = reports.rows_key(report.id, code)
    number_files.is_stored(blobs, key, report.number_files, code)  # raises for another content
    with blobs.open(key) as file:
        first = 0
        while numbers := u64.read(file, first, _NUMBERS_PER_READ):
            yield from numbers
            first += len(numbers)


def _write_fixed(
    task: TaskContext, parent: DatasetVersion, marks: bytearray, changes: dict[str, Strip], out: RowWriter
) -> FixCounts:
    counts, kind = FixCounts(), DatasetKind(parent.dataset.kind)
    for stored, answer_lines in rows.stream_with_answers(task.blobs, parent):
        mark = marks[stored.number - 1]
        row = None if mark & _DROPPED else stored.row
        if row is not None and mark:
            row = _changed(row, mark, changes, kind)
            counts.changed += row is not None
        if row is None:
            counts.dropped += 1
        else:
            out.add(stored.line, row, answer_lines)
        task.report(_WRITTEN * stored.number / len(marks), "writing rows")
    return counts


def _changed(row: Row, mark: int, changes: dict[str, Strip], kind: DatasetKind) -> Row | None:
    """The changed row; None if it is not valid any more: a completion is empty, or two are equal."""
    for number, (code, change) in enumerate(changes.items(), 1):
        if mark & _DROPPED << number or code in WHITE_SPACE:
            row = change(row)
    try:
        return canonical(kind, row) if answers_differ(row) else None
    except RowError:
        return None
