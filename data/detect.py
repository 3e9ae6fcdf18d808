"""What a file is and what its records mean, by its first records; and what they would become."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from data.columns import Column, columns_of
from data.errors import RowError, UnclearFormat
from data.files import encodings
from data.files.opened import Opened, opened
from data.files.records import Record, shown
from data.findings import Findings
from data.formats import FORMATS, SPELT
from data.formats.base import Format
from data.formats.guess import guess
from data.limits import Limits
from data.plan import Plan, ordered, stands_out
from data.record_to_rows import Unit, units
from data.spelling import respelt

__all__ = ["Candidate", "Column", "Detection", "Plan", "Preview", "PreviewRow", "detect", "look", "preview"]

_RECORDS = 200
"""Records that are looked at."""
_BYTES = 4 * 1024**2
"""Characters of them, if that is fewer records."""
_RAW = 2000


@dataclass(frozen=True)
class Candidate:
    """What the records could be."""

    format: str
    title: str
    kind: str
    score: float
    """Share of the records that look like it."""
    why: str
    specific: int
    """Of two with one score, the one that says more about the records is higher."""


@dataclass(frozen=True)
class Detection:
    """What was found out by looking at the beginning."""

    container: str
    compression: str
    encoding: str
    notes: list[str]
    columns: list[Column]
    candidates: list[Candidate]
    """Best first."""
    sure: bool
    records: int
    """How many were looked at."""
    problems: list[dict[str, Any]] = field(default_factory=list)
    """Of records that could not be read at all: line and detail."""
    suggested: dict[str, Any] | None = None
    """A mapping, where the columns' names suggest one and no format is sure."""
    named_encoding: str | None = None
    """The encoding that the file was read with because the user named it."""


@dataclass(frozen=True)
class PreviewRow:
    """A record, and a row that it becomes, or why it does not."""

    line: int
    raw: str
    row: dict[str, Any] | None
    problem: str | None


@dataclass(frozen=True)
class Preview:
    """A file as somebody sees it before it is imported."""

    detection: Detection
    plan: Plan | None
    """What the rows were read with. None: it is not clear, and there are none."""
    rows: list[PreviewRow]


def detect(
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    scratch: Path | None = None,
    encoding: str | None = None,
) -> Detection:
    """Look at the file's first records. `encoding`: of its text, if it is not to be detected.

    Raises UnusableFile for what is no file of records, InvalidOption for an unknown encoding.
    """
    encoding = encodings.checked(encoding)
    with opened(open_, filename, limits, scratch=scratch, encoding=encoding) as found:
        sample = _sample(found, None, _RECORDS)
    good = [value for _, value, _ in sample if not isinstance(value, RowError)]
    problems = [{"line": line, "detail": bad.detail} for line, bad, _ in sample if isinstance(bad, RowError)]
    columns, candidates = columns_of(good, found.names), _candidates(good)
    notes = [*found.notes, *_separated(found)]
    return Detection(
        found.container,
        found.compression,
        found.encoding,
        notes,
        columns,
        candidates,
        stands_out(candidates),
        len(sample),
        problems[:20],
        None if stands_out(candidates) else guess(columns),
        encoding,
    )


def preview(
    open_: Callable[[], BinaryIO],
    filename: str,
    plan: Plan,
    limits: Limits,
    rows: int = 20,
    scratch: Path | None = None,
) -> list[PreviewRow]:
    """The first rows as they would be stored. Of formats that gather answers, those that the first records give."""
    with opened(open_, filename, limits, scratch=scratch, encoding=plan.encoding) as found:
        sample = _sample(found, plan.columns.hands_out, _RECORDS if plan.grouped else rows)
    raw = {record[0]: shown(record, _RAW) for record in sample}
    made = units(iter(sample), plan, Findings(), scratch)
    return [_preview_row(unit, raw) for unit in islice(made, rows)]


def look(
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    *,
    format: str | None = None,
    kind: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    scratch: Path | None = None,
) -> Preview:
    """Detect and preview. Raises UnusableFile, UnusableMapping, and InvalidOption for a format or kind that is not there."""
    detection = detect(open_, filename, limits, scratch, encoding)
    try:
        plan = Plan.of(detection, format=format, kind=kind, mapping=mapping)
    except UnclearFormat:
        return Preview(detection, None, [])
    return Preview(detection, plan, preview(open_, filename, plan, limits, scratch=scratch))


def _sample(found: Opened, columns: Callable[[str], bool] | None, count: int) -> list[Record]:
    """The first records, fewer where they are long."""
    sample: list[Record] = []
    size = 0
    for record in islice(found.records(columns), count):
        sample.append(record)
        size += len(record[2] or shown(record, _BYTES))
        if size > _BYTES:
            break
    return sample


def _separated(found: Opened) -> list[str]:
    """Commas go without saying."""
    if found.delimiter in (None, ","):
        return []
    names = {"\t": "tabs", ";": "semicolons", "|": "vertical bars"}
    name = names.get(found.delimiter or "", f"the sign {found.delimiter}")
    return [f"Its columns are separated by {name}."]


def _candidates(records: list[dict[str, Any]]) -> list[Candidate]:
    spelt = [respelt(record, SPELT) for record in records]
    return ordered([candidate for known in FORMATS.values() for candidate in _rated(known, spelt)])


def _rated(known: Format, records: list[dict[str, Any]]) -> Iterator[Candidate]:
    """A candidate for each kind that the format can give, the usual one first."""
    kinds = known.kinds
    if known.suggests is not None and any(known.fits(record) for record in records):
        first = known.suggests(records)
        kinds = (first, *(kind for kind in kinds if kind is not first))
    tests = known.fits_as or dict.fromkeys(kinds, known.fits)
    for index, (kind, test) in enumerate(tests.items()):
        fits = [float(test(record)) for record in records]
        score = sum(fits) / len(fits) if fits else 0.0
        if not score:
            continue
        count = sum(1 for fit in fits if fit)
        verb = "has" if count == 1 else "have"
        why = f"{count} of the {len(fits)} records that were looked at {verb} its fields."
        less = 0 if known.one_of_many else 10 if known.fits_as else 1
        specific = known.specific - less * index
        yield Candidate(known.id, known.title, kind.value, round(score, 4), why, specific)


def _preview_row(unit: Unit, raw: Mapping[int, str]) -> PreviewRow:
    problem = unit.row.sentence() if isinstance(unit.row, RowError) else None
    return PreviewRow(unit.line, raw.get(unit.line, ""), None if isinstance(unit.row, RowError) else unit.row, problem)
