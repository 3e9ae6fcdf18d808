"""Converts records to rows: the format reads a record, and the schema makes its rows canonical. A record that cannot be used becomes an error."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from data.errors import RowError
from data.files.records import Record, compact, shown
from data.findings import SAMPLE_CHARACTERS, Findings
from data.formats.base import Rated, Reading, Source
from data.formats.read import read
from data.formats.values import named
from data.grouping import RatedAnswer, RowResult, ranking_units, spooled
from data.plan import Plan
from data.schema import DatasetKind, canonical

__all__ = ["RowResult", "records_to_rows"]


def records_to_rows(
    records: Iterator[Record], plan: Plan, findings: Findings, scratch: Path | None = None
) -> Iterator[RowResult]:
    """Rows and errors. A record gives all of its rows or none.

    If the answers to one prompt are in several records, their ranking has the line of the first answer.
    """
    known = plan.reads_as
    reading = Reading(DatasetKind(plan.kind), findings, plan.mapping or {}, named=plan.named)
    if not plan.grouped:
        for record in records:
            yield from _record_rows(record, plan, reading)
        return
    answers = _answers(records, plan, reading)
    for group in _runs(answers) if plan.grouped == "consecutive" else spooled(answers, scratch):
        if isinstance(group, RowResult):
            yield group
        else:
            yield from _ranked(group, known.sided, findings)


def _record_rows(record: Record, plan: Plan, reading: Reading) -> Iterator[RowResult]:
    known, (line, value, _) = plan.reads_as, record
    if isinstance(value, RowError):
        yield RowResult(line, value, _sample(record, value))
        return
    reading.line = line
    try:
        rows = [
            canonical(reading.kind, row)
            for row in read(value, known, plan.columns, reading)
            if not isinstance(row, Rated)
        ]
    except RowError as bad:
        bad = _renamed(bad, value, plan.names_in(value))
        yield RowResult(line, bad, _sample(record, bad))
        return
    for row in rows:
        yield RowResult(line, row)


def _answers(records: Iterator[Record], plan: Plan, reading: Reading) -> Iterator[RatedAnswer | RowResult]:
    known = plan.reads_as
    for record in records:
        line, value, _ = record
        reading.line = line
        try:
            if isinstance(value, RowError):
                raise value
            for rated in read(value, known, plan.columns, reading):
                assert isinstance(rated, Rated)
                yield _checked(line, rated)
        except RowError as bad:
            bad = bad if isinstance(value, RowError) else _renamed(bad, value, plan.names_in(value))
            yield RowResult(line, bad, _sample(record, bad))


def _checked(line: int, rated: Rated) -> RatedAnswer:
    """The answer in canonical form. Raises RowError."""
    demonstration = canonical(DatasetKind.SFT, {"prompt": rated.prompt, "completion": rated.completion})
    return RatedAnswer(line, demonstration["prompt"], demonstration["completion"], rated.score, rated.notes)


def _runs(answers: Iterator[RatedAnswer | RowResult]) -> Iterator[list[RatedAnswer] | RowResult]:
    """Groups consecutive answers to one prompt."""
    run: list[RatedAnswer] = []
    for answer in answers:
        if isinstance(answer, RowResult):
            yield answer
            continue
        if run and answer.key != run[0].key:
            yield run
            run = []
        run.append(answer)
    if run:
        yield run


def _ranked(group: list[RatedAnswer], sided: bool, findings: Findings) -> Iterator[RowResult]:
    for unit in ranking_units(group, sided, findings):
        try:
            row = unit.row if isinstance(unit.row, RowError) else canonical(DatasetKind.PREFERENCES, unit.row)
            yield unit._replace(row=row)
        except RowError as bad:
            yield RowResult(unit.line, bad, group[0].completion)


_OF_A_FIELD = frozenset({"wrong_type", "bad_label", "bad_number", "unknown_field"})
_BREAK = re.compile(r"\n\s*")


def _sample(record: Record, bad: RowError) -> str:
    """An excerpt that shows the error: the field for an error of one field, otherwise the beginning of the record."""
    _, value, _ = record
    name = (bad.pointer or "").removeprefix("/").partition("/")[0]
    if bad.code in _OF_A_FIELD and isinstance(value, dict) and name in value:
        return compact({name: value[name]})[:SAMPLE_CHARACTERS]
    return _BREAK.sub(" ", shown(record, 2 * SAMPLE_CHARACTERS))[:SAMPLE_CHARACTERS]


def _renamed(bad: RowError, record: Source, names: Mapping[str, str]) -> RowError:
    """The error with the record's column names. An error about a missing field also lists the fields that the record has."""
    if bad.pointer is None:
        return bad
    first, slash, rest = bad.pointer.removeprefix("/").partition("/")
    detail = bad.detail
    if bad.code == "identical_answers" and first == "b":
        detail = f"{names.get('a', 'a')} and {names.get('b', 'b')} are the same text"
    if bad.code == "missing_field" and not slash and record.get(first) is None:
        detail = f"{detail}; found {named(record)}"
    return RowError(detail, bad.column, f"/{names.get(first, first)}{slash}{rest}", bad.code)
