"""Every row that cannot be used, where the run would name the first and stop."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from data.errors import UnreadableRows
from data.parse import read_row
from data.rows import comparisons, demonstration, prompt_row, solution, text, thumb
from trainer.preflight.report import Finding
from trainer.spec import DataSpec

_SHOWN = 20
"""Rows named for each file; the rest are counted."""
_PARSERS: dict[str, Callable[[dict[str, Any], int], object]] = {
    "preferences": comparisons,
    "thumbs": lambda row, _: thumb(row),
    "steps": lambda row, _: solution(row),
    "sft": lambda row, _: demonstration(row),
    "prompts": lambda row, _: prompt_row(row),
    "evaluation_prompts": lambda row, _: prompt_row(row),
    "pretraining": lambda row, _: text(row),
}


def broken(spec: DataSpec) -> Iterator[Finding]:
    """One finding for each row or file that cannot be read."""
    for name, parse in _PARSERS.items():
        path = getattr(spec, name)
        if path is None:
            continue
        found = _broken(path, parse)
        for where, detail in islice(found, _SHOWN):
            yield Finding(level="error", area="data", code="invalid_row", where=where, detail=detail)
        rest = sum(1 for _ in found)
        if rest:
            yield Finding(level="error", area="data", code="invalid_rows", where=path, detail=f"{rest} rows more.")


def _broken(path: str, parse: Callable[[dict[str, Any], int], object]) -> Iterator[tuple[str, str]]:
    try:
        lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
    except OSError as error:
        yield path, f"{error.strerror}."
        return
    if not any(line.strip() for line in lines):
        yield path, "the file is empty: it has no row."
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                read_row(path, number, line.decode(), parse)
        except UnreadableRows as error:
            yield f"{path}, line {number}", str(error).removeprefix(f"{path}, line {number}").lstrip(":, ")
        except UnicodeDecodeError as error:
            yield f"{path}, line {number}", f"not UTF-8 text (byte {error.start} of the line)."
