"""The first rows of a file before it is imported, and the rows of each format's example."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from data.detect import RECORDS, Detection, detect, first_records
from data.errors import RowError, UnclearFormat
from data.files.opened import opened
from data.files.records import shown
from data.files.streams import Limits
from data.findings import Findings
from data.formats import FORMATS, custom
from data.plan import Plan, make_plan
from data.record_to_rows import RowResult, records_to_rows

_RAW = 2000
"""Characters of a record that are shown."""


@dataclass(frozen=True)
class PreviewRow:
    """A record, and one of its rows or its problem."""

    line: int
    raw: str
    row: dict[str, Any] | None
    problem: str | None


@dataclass(frozen=True)
class Preview:
    """A file before it is imported."""

    detection: Detection
    plan: Plan | None
    """The plan that gave the rows. None: the format is unclear, and `rows` is empty."""
    rows: list[PreviewRow]
    questions: list[dict[str, Any]] = field(default_factory=list)
    """Columns that look meaningful and are not used. Without an answer the file is not imported."""


def preview_rows(
    open_: Callable[[], BinaryIO],
    filename: str,
    plan: Plan,
    limits: Limits,
    rows: int = 20,
    scratch: Path | None = None,
) -> list[PreviewRow]:
    """The first rows as they would be stored. Formats that group answers give the rows of the first records alone."""
    with opened(open_, filename, limits, scratch=scratch, encoding=plan.encoding) as file:
        sample = first_records(file, plan.columns.passes, RECORDS if plan.grouped else rows)
    raw: dict[int, str] = {}
    for record in sample:  # a line may hold several
        raw[record[0]] = f"{raw.get(record[0], '')}{shown(record, _RAW)}"[:_RAW]
    made = records_to_rows(iter(sample), plan, Findings(), scratch)
    return [_preview_row(unit, raw) for unit in islice(made, rows)]


def preview_file(  # noqa: PLR0913  # one for each option
    open_: Callable[[], BinaryIO],
    filename: str,
    limits: Limits,
    *,
    format: str | None = None,
    kind: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    ignore: Collection[str] = (),
    scratch: Path | None = None,
) -> Preview:
    """Detection, plan and first rows, or questions. Raises UnusableFile, UnusableMapping and InvalidOption."""
    detection = detect(open_, filename, limits, scratch, encoding)
    try:
        plan = make_plan(detection, format=format, kind=kind, mapping=mapping, ignore=ignore)
    except UnclearFormat as unclear:
        return Preview(detection, None, [], unclear.extras.get("questions", []))
    return Preview(detection, plan, preview_rows(open_, filename, plan, limits, scratch=scratch))


def _preview_row(unit: RowResult, raw: Mapping[int, str]) -> PreviewRow:
    problem = unit.row.sentence() if isinstance(unit.row, RowError) else None
    return PreviewRow(unit.line, raw.get(unit.line, ""), None if isinstance(unit.row, RowError) else unit.row, problem)


@lru_cache(maxsize=1)
def example_rows() -> dict[str, list[dict[str, Any]]]:
    """The rows of each format's example, by the format's id."""
    return {name: _example(name) for name in FORMATS}


def example_mapping(format: str) -> dict[str, Any] | None:
    """The mapping of the format `custom` in its example; None for any other format."""
    return custom.EXAMPLE_MAPPING if format == custom.FORMAT.id else None


def _example(name: str) -> list[dict[str, Any]]:
    known = FORMATS[name]
    plan = Plan("jsonl", "none", name, known.kinds[0].value, example_mapping(name))
    records = ((line, record, None) for line, record in enumerate(known.example, 1))
    return [unit.row for unit in records_to_rows(iter(records), plan, Findings()) if not isinstance(unit.row, RowError)]
