"""Converts a source file to canonical rows and findings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from data.column_meaning import is_filled, never_rates
from data.errors import RowError, UnclearFormat, UnusableFile
from data.files.cells import Missing
from data.files.opened import Opened, opened
from data.files.records import Record
from data.files.streams import Limits
from data.findings import LISTED, Findings, unusable
from data.formats import custom
from data.leftovers import PathColumn
from data.plan import Plan
from data.questions import Question, unread
from data.record_to_rows import records_to_rows
from data.schema import DatasetKind
from data.spelling import plain

_TOLD_COLUMNS, _NAME = 12, 60
_VALUES, _MOST_WATCHED = 50, 200
"""Most values of a column, and most columns, that are examined during an import."""


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
    advice: str = ""
    """A sentence about words that were read as empty."""

    def refuse(self) -> None:
        """Raise UnusableFile if any record could not be used."""
        if self.error_count:
            raise refusal(self.errors, self.error_count, self.advice)


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
    broken or beyond the limits, and for one without a good row or with ties only. Raises UnclearFormat for a column that
    looks meaningful, is not used, and is empty in the first records.
    """
    findings, signal = Findings(), _TrainingSignal()
    with opened(open_, filename, limits, progress, scratch, plan.encoding) as file:
        watched = _Watched(plan)
        records = file.records(lambda name: plan.columns.passes(name) or watched.watches(name))
        counted = _CountedRecords(records, plan, file, watched)
        for unit in records_to_rows(counted.records(), plan, findings, scratch):
            if isinstance(unit.row, RowError):
                findings.refuse(unit.line, unit.row, unit.text)
            else:
                counted.watch()
                signal.see(unit.row)
                out.add(unit.line, unit.row, unit.answer_lines)
        notes, missing = file.notes, file.missing
    advice = _note_missing(findings, missing, plan)
    _require(signal, findings, plan, advice)
    for note in notes:
        findings.note("read_as", 1, note.rstrip("."))
    counted.note_unused(findings)
    left_out = findings.error_count
    return Converted(
        findings.as_json(counted.count), left_out, counted.count, findings.errors, findings.error_count, advice
    )


class _CountedRecords:
    """Counts records while they are read, and collects columns that the format does not use."""

    def __init__(self, records: Iterator[Record], plan: Plan, file: Opened, watched: "_Watched") -> None:
        self._records, self._plan, self._used = records, plan, plan.columns
        self.count = 0
        self._seen: set[str] = set()
        self._watched = watched
        self._current: tuple[dict[str, Any], int] = ({}, 0)
        self._named = {plain(name) for name in file.names or []}
        """The columns of all records, in the form of `plain`."""
        self._unused: dict[str, int] = {}
        """The line of the first record that has the column."""
        if file.names is not None:
            self._seen = set(file.names) & set(plan.ignore)
            self._unused = {name[:_NAME]: 1 for name in file.names if name and not self._used.declares(name)}

    def records(self) -> Iterator[Record]:
        for record in self._records:
            self.count += 1
            value = record[1]
            if not isinstance(value, RowError):
                if not value.keys() <= self._seen:
                    self._notice(value, record[0])
                self._current = value, record[0]
                if self._plan.grouped:
                    self.watch()
            yield record

    def watch(self) -> None:
        """Collect the values of the current record, which the format can read."""
        self._watched.see(*self._current)

    def _notice(self, value: dict[str, Any], line: int) -> None:
        if len(self._seen) < 1000:
            for name in value.keys() - self._seen:
                self._named.add(plain(name))
                if not self._used.is_respelt(name):
                    self._seen.add(name)
                if not self._used.declares(name) or self._used.is_hidden(name, value):
                    self._unused.setdefault(name[:_NAME], line)

    def note_unused(self, findings: Findings) -> None:
        """Add findings of unused columns. A column that looks meaningful gets a warning, because its values are lost.

        Raises UnclearFormat for such a column that the first records did not have, unless the user named the format or kind.
        """
        asked = self._watched.questions()
        if asked and not self._plan.named:
            raise asking(asked)
        lost = dict.fromkeys(self._plan.lost, 1) | {question.column: line for question, line in asked}
        lost |= {name: line for name, line in self._unused.items() if self._is_hidden(name)}
        harmless = {name: line for name, line in self._unused.items() if name not in lost}
        for code, names in (("verdicts_ignored", lost), ("columns_ignored", harmless)):
            if names:
                more = f" and {len(names) - _TOLD_COLUMNS} more" if len(names) > _TOLD_COLUMNS else ""
                detail = f"Not used: {', '.join(sorted(names)[:_TOLD_COLUMNS])}{more}"
                findings.note(code, min(names.values()), detail)
        if missing := [name for name in self._plan.ignore if name.partition(".")[0] not in self._seen]:
            findings.note("ignored_missing", 1, f"No record has the column {', '.join(missing[:_TOLD_COLUMNS])}")
        paths = custom.columns_of(self._plan.mapping or {})
        if missing := [path for path in paths if not {plain(path), plain(path.partition(".")[0])} & self._named]:
            findings.note("mapped_missing", 1, f"No record has the column {', '.join(missing[:_TOLD_COLUMNS])}")

    def _is_hidden(self, name: str) -> bool:
        """Whether the column is hidden by one of the exact name, and not by the user."""
        return name not in self._plan.ignore and self._used.declares(name)


def _note_missing(findings: Findings, missing: Missing, plan: Plan) -> str:
    """Add the words for a missing value to the findings. Returns a sentence about the first ones, or an empty text."""
    told = []
    for (name, word), count in missing.count.items():
        if plan.columns.declares(name):
            told.append(f"{word} in the column {name[:_NAME]!r}")
            findings.note("missing_words", missing.lines[name, word], told[-1], count=count)
    return f" Read as empty: {', '.join(told[:3])}." if told else ""


class _Watched:
    """Collects the values of columns that are not used and that the first records did not fill."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._skipped = {*plan.examined, *plan.ignore}
        self._values: dict[str, list[Any]] = {}
        self._lines: dict[str, int] = {}

    def watches(self, name: str) -> bool:
        """Whether a reader should read the column although the format does not use it."""
        return name not in self._skipped and not never_rates(name)

    def see(self, value: dict[str, Any], line: int) -> None:
        """Collect the values of a record."""
        if value.keys() <= self._skipped:
            return
        for name in value.keys() - self._skipped:
            if self._plan.columns.declares(name) or never_rates(name):
                self._skipped.add(name)
            elif is_filled(value[name]):
                values = self._values.setdefault(name, [])
                self._lines.setdefault(name, line)
                values.append(value[name])
                if len(values) >= _VALUES or len(self._values) > _MOST_WATCHED:
                    self._skipped.add(name)

    def questions(self) -> list[tuple[Question, int]]:
        """The questions about them, each with the line of the first value."""
        kind = DatasetKind(self._plan.kind)
        found = [
            (unread(PathColumn((name,), values, False, False), self._plan.reads_as, kind), name)
            for name, values in self._values.items()
        ]
        return [(question, self._lines[name]) for question, name in found if question is not None]


def asking(asked: Sequence[tuple[Question, int]]) -> UnclearFormat:
    """The error that asks about columns which only later records have."""
    first, line = asked[0]
    errors = [{"line": line, "pointer": f"/{one.column}", "detail": one.detail} for one, line in asked]
    questions = [question.as_json() for question, _ in asked]
    detail = f"Line {line}: {first.detail} Name the kind, map the columns, or ignore `{first.column}`."
    return UnclearFormat(detail, param="format", candidates=[], suggested=None, errors=errors, questions=questions)


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


def _require(signal: _TrainingSignal, findings: Findings, plan: Plan, advice: str) -> None:
    if not signal.rows:
        if findings.error_count:
            raise refusal(findings.errors, findings.error_count, advice)
        no_rows = {"code": "no_rows", "line": 1, "detail": "the file has no rows"}
        raise refusal([no_rows], 1)
    if plan.kind == DatasetKind.PREFERENCES and not signal.preferred and not signal.waiting:
        raise unusable(
            "only_ties", "Nothing but ties: no answer is better than another, so there is nothing to learn.", 1
        )


def refusal(errors: list[dict[str, Any]], count: int, advice: str = "") -> UnusableFile:
    """The error of a file with bad records. Its message describes the first one and ends with `advice`."""
    first, more = errors[0], f" {count - 1} more." if count > 1 else ""
    detail = f"Line {first['line']}: {first['detail']}.{more}{advice}"
    return UnusableFile(detail, param="file", errors=errors[:LISTED], error_count=count)
