"""What the rows of a format's example are."""

from functools import lru_cache
from typing import Any

from core.datasets.findings import Findings
from core.datasets.formats import FORMATS, custom
from core.datasets.line_json import BadLine
from core.datasets.plan import Plan
from core.datasets.rows_of import units


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
    return [unit.row for unit in units(iter(records), plan, Findings()) if not isinstance(unit.row, BadLine)]
