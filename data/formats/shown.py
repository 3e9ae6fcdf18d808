"""What the rows of a format's example are."""

from functools import lru_cache
from typing import Any

from data.errors import RowError
from data.findings import Findings
from data.formats import FORMATS, custom
from data.plan import Plan
from data.record_to_rows import units


@lru_cache(maxsize=1)
def examples() -> dict[str, list[dict[str, Any]]]:
    """Of each format, by id."""
    return {name: _rows(name) for name in FORMATS}


def mapping(format: str) -> dict[str, Any] | None:
    """That of the example, of `custom`."""
    return custom.EXAMPLE_MAPPING if format == custom.FORMAT.id else None


def _rows(name: str) -> list[dict[str, Any]]:
    known = FORMATS[name]
    plan = Plan("jsonl", "none", name, known.kinds[0].value, mapping(name))
    records = ((line, record, None) for line, record in enumerate(known.example, 1))
    return [unit.row for unit in units(iter(records), plan, Findings()) if not isinstance(unit.row, RowError)]
