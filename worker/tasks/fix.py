"""Makes the version that fixes of a report's findings lead to."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.blobs import BlobStore
from core.datasets import fixes, publish, reports, rows, u64
from core.datasets.row_store import RowWriter, drafting
from core.db import session_scope
from core.errors import InvalidDataset, NotFound
from core.models import DatasetReport, DatasetVersion
from data.errors import RowError
from data.kinds import DatasetKind
from data.schema import Row, canonical
from data.strips import WHITE_SPACE, Strip, strips, told_apart
from worker.tasks.context import TaskRun

_PIECE = 65536
_WRITTEN = 0.95
"""Share of the work that is reading and writing rows; the rest is storing them."""
_DROPPED = 1
"""The bit of a row that is left out; those of the strips follow."""


@dataclass
class Done:
    """What became of the rows."""

    dropped: int = 0
    changed: int = 0


def run(task: TaskRun) -> None:
    """Write the parent's rows anew, without those to be dropped, and with the texts of others changed."""
    with session_scope() as session:
        parent = session.get(DatasetVersion, task.args["parent"])
        report = session.get(DatasetReport, task.args["report"])
    if parent is None or report is None or report.result is None:
        raise NotFound("The dataset was deleted meanwhile.")
    codes = list(task.args["findings"])
    dropping = [code for code in codes if fixes.fix_of(report.result, code) == fixes.DROP]
    changes = strips([code for code in codes if code not in dropping], report.result["special_tokens"])
    with drafting(task.scratch) as out:
        done = _write(task, parent, _marked(task.blobs, report.id, parent, dropping, list(changes)), changes, out)
        draft = out.finish()
        if not draft.rows:
            raise InvalidDataset("The fixes would leave no row.", param="findings")
        task.tell(_WRITTEN, "storing rows")
        with session_scope() as session:
            made = session.get(DatasetVersion, task.args["version"])
            if made is not None and made.status == "importing":
                made.origin = made.origin | {"dropped": done.dropped, "changed": done.changed}
            findings = publish.decided(parent.findings)
            publish.publish_version(
                session, task.blobs, task.args["version"], draft, findings=findings, left_out=parent.left_out
            )


def _marked(
    blobs: BlobStore, report_id: str, parent: DatasetVersion, dropping: list[str], changing: list[str]
) -> bytearray:
    """One byte for each row: what is to be done with it."""
    assert parent.content is not None
    marks = bytearray(parent.content.rows)
    for code in dropping + changing:
        bit = _DROPPED if code in dropping else _DROPPED << 1 + changing.index(code)
        for number in _numbers(blobs, reports.rows_key(report_id, code)):
            marks[number - 1] |= bit
    return marks


def _numbers(blobs: BlobStore, key: str) -> Iterator[int]:
    with blobs.open(key) as file:
        first = 0
        while piece := u64.read(file, first, _PIECE):
            yield from piece
            first += len(piece)


def _write(task: TaskRun, parent: DatasetVersion, marks: bytearray, changes: dict[str, Strip], out: RowWriter) -> Done:
    done, kind = Done(), DatasetKind(parent.dataset.kind)
    for stored, answer_lines in rows.stream_with_answers(task.blobs, parent):
        mark = marks[stored.number - 1]
        row = None if mark & _DROPPED else stored.row
        if row is not None and mark:
            row = _changed(row, mark, changes, kind)
            done.changed += row is not None
        if row is None:
            done.dropped += 1
        else:
            out.add(stored.line, row, answer_lines)
        task.tell(_WRITTEN * stored.number / len(marks), "writing rows")
    return done


def _changed(row: Row, mark: int, changes: dict[str, Strip], kind: DatasetKind) -> Row | None:
    """None where the change leaves nothing that could be a row: an answer is empty then, or two are the same."""
    for at, (code, change) in enumerate(changes.items(), 1):
        if mark & _DROPPED << at or code in WHITE_SPACE:
            row = change(row)
    try:
        return canonical(kind, row) if told_apart(row) else None
    except RowError:
        return None
