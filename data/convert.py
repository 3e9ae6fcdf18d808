"""Converts a source file to canonical rows and findings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from data.errors import RowError, UnusableFile
from data.files.opened import Opened, opened
from data.files.records import Record
from data.files.streams import Limits
from data.findings import LISTED, Findings, unusable
from data.formats.base import names_answer, names_verdict
from data.plan import Plan
from data.record_to_rows import records_to_rows
from data.schema import DatasetKind

_TOLD_COLUMNS, _NAME = 12, 60


class Rows(Protocol):
    """Receives rows in the order of the file."""

    def add(self, line: int, row: dict[str, Any], answer_lines: Sequence[int]) -> None: ...


@dataclass(frozen=True)
class Converted:
    """The result of converting a file."""

    findings: list[dict[str, Any]]
    left_out: int
    """Number of records that are in no row."""
    records: int
    errors: list[dict[str, Any]]
    """The first bad records: line, detail, and column or pointer where known."""
    error_count: int

    def refuse(self) -> None:
        """Raise UnusableFile if any record could not be used."""
        if self.error_count:
            raise refusal(self.errors, self.error_count)


def convert(
    open_: Callable[[], BinaryIO],
    filename: str,
    plan: Plan,
    limits: Limits,
    out: Rows,
    progress: Callable[[int], None] = lambda _: None,
    scratch: Path | None = None,
) -> Converted:
    """Write every row of the file to `out`. One record is in memory at a time, or the answers to one prompt.

    `progress` receives the number of source bytes that were read. Raises UnusableFile for a file that is cut off,
    broken or beyond the limits, and for one without a good row or with ties only.
    """
    findings, signal = Findings(), _TrainingSignal()
    with opened(open_, filename, limits, progress, scratch, plan.encoding) as found:
        counted = _Counted(found.records(plan.columns.passes), plan, found)
        for unit in records_to_rows(counted.records(), plan, findings, scratch):
            if isinstance(unit.row, RowError):
                findings.refuse(unit.line, unit.row, unit.text)
            else:
                signal.see(unit.row)
                out.add(unit.line, unit.row, unit.answer_lines)
        notes = found.notes
    _require(signal, findings, plan)
    for note in notes:
        findings.note("read_as", 1, note.rstrip("."))
    counted.note_unused(findings, DatasetKind(plan.kind))
    left_out = findings.error_count
    return Converted(findings.as_json(counted.count), left_out, counted.count, findings.errors, findings.error_count)


class _Counted:
    """Counts records while they are read, and collects columns that the format does not use."""

    def __init__(self, records: Iterator[Record], plan: Plan, found: Opened) -> None:
        self._records, self._used = records, plan.columns
        self.count = 0
        self._seen: set[str] = set()
        self._unused: dict[str, int] = {}
        """The line of the first record that has the column."""
        if found.names is not None:
            self._unused = {name[:_NAME]: 1 for name in found.names if name and not self._used.declares(name)}

    def records(self) -> Iterator[Record]:
        for record in self._records:
            self.count += 1
            value = record[1]
            if not isinstance(value, RowError) and not value.keys() <= self._seen:
                self._notice(value, record[0])
            yield record

    def _notice(self, value: dict[str, Any], line: int) -> None:
        if len(self._seen) < 1000:
            for name in value.keys() - self._seen:
                if not self._used.is_respelt(name):
                    self._seen.add(name)
                if not self._used.declares(name) or self._used.is_hidden(name, value):
                    self._unused.setdefault(name[:_NAME], line)

    def note_unused(self, findings: Findings, kind: DatasetKind) -> None:
        """Add findings of unused columns. Columns that look like verdicts or answers get a warning, because their values are lost."""
        missed = {name for name in self._unused if _is_missed(name, kind)}
        for code, names in (("verdicts_ignored", missed), ("columns_ignored", self._unused.keys() - missed)):
            if names:
                more = f" and {len(names) - _TOLD_COLUMNS} more" if len(names) > _TOLD_COLUMNS else ""
                detail = f"Not used: {', '.join(sorted(names)[:_TOLD_COLUMNS])}{more}"
                findings.note(code, min(self._unused[name] for name in names), detail)


def _is_missed(name: str, kind: DatasetKind) -> bool:
    return (kind == DatasetKind.SFT and names_verdict(name)) or (
        kind in (DatasetKind.SFT, DatasetKind.PROMPTS) and names_answer(name)
    )


class _TrainingSignal:
    """Records whether a reward model could learn from the rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.preferred = False
        self.waiting = False

    def see(self, row: dict[str, Any]) -> None:
        self.rows += 1
        if not self.preferred:
            said = row.get("label", row.get("ranks", ""))
            self.waiting |= said is None
            self.preferred = said in ("a", "b", "") or (isinstance(said, list) and len(set(said)) > 1)


def _require(signal: _TrainingSignal, findings: Findings, plan: Plan) -> None:
    if not signal.rows:
        if findings.error_count:
            raise refusal(findings.errors, findings.error_count)
        no_rows = {"code": "no_rows", "line": 1, "detail": "the file has no rows"}
        raise refusal([no_rows], 1)
    if plan.kind == DatasetKind.PREFERENCES and not signal.preferred and not signal.waiting:
        raise unusable(
            "only_ties", "Nothing but ties: no answer is better than another, so there is nothing to learn.", 1
        )


def refusal(errors: list[dict[str, Any]], count: int) -> UnusableFile:
    """The error of a file with bad records. Its message describes the first one."""
    first, more = errors[0], f" {count - 1} more." if count > 1 else ""
    detail = f"Line {first['line']}: {first['detail']}.{more}"
    return UnusableFile(detail, param="file", errors=errors[:LISTED], error_count=count)
