"""Reads an upload line by line into the canonical form, or says what is wrong with which line."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from core.datasets.line_json import BadLine, parse
from core.datasets.row_shapes import SHAPES
from core.errors import InvalidDataset
from core.models.dataset import DatasetKind

LISTED = 20
"""Errors that are listed; all are counted."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Limits:
    """What an upload may not exceed."""

    line_bytes: int


@dataclass
class Content:
    """The draft of a dataset's blob."""

    path: Path
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class RowError:
    """One thing wrong. `column` counts characters and is known for syntax, `pointer` for fields."""

    line: int
    detail: str
    column: int | None = None
    pointer: str | None = None


@contextmanager
def canonical(file: BinaryIO, kind: DatasetKind, limits: Limits, scratch: Path) -> Iterator[Content]:
    """A temporary file with the rows of `file` in their canonical form. Never more than one line is in memory."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=scratch, prefix="upload-", suffix=".jsonl") as draft:
        content = _convert(file, kind, limits, draft)  # type: ignore[arg-type]  # the wrapper reads like a file
        draft.flush()
        yield content


def _convert(file: BinaryIO, kind: DatasetKind, limits: Limits, draft: BinaryIO) -> Content:
    content, digest = Content(Path(draft.name), 0, 0, ""), hashlib.sha256()
    errors: list[RowError] = []
    error_count = 0
    for number, line in _lines(file, limits.line_bytes):
        try:
            row = orjson.dumps(SHAPES[kind](parse(line, limits.line_bytes))) + b"\n"
        except BadLine as bad:
            error_count += 1
            if error_count <= LISTED:
                errors.append(RowError(number, bad.detail, bad.column, bad.pointer))
            continue
        content.rows, content.bytes = content.rows + 1, content.bytes + len(row)
        digest.update(row)
        if not error_count:
            draft.write(row)
    _refuse(errors, error_count, content.rows)
    content.sha256 = digest.hexdigest()
    return content


def _refuse(errors: list[RowError], count: int, rows: int) -> None:
    if not count and not rows:
        errors, count = [RowError(1, "the file has no rows")], 1
    if count:
        listed = [{name: value for name, value in asdict(error).items() if value is not None} for error in errors]
        first = f"Line {errors[0].line}: {errors[0].detail}."
        more = f" {count - 1} more." if count > 1 else ""
        raise InvalidDataset(first + more, param="file", errors=listed, error_count=count)


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers. Of one that is too long, only its beginning, one byte beyond the limit."""
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        rest = line
        while len(rest) > limit and not rest.endswith(b"\n"):
            rest = file.readline(limit + 1)
        if number == 1:
            line = line.removeprefix(_BOM)
        if line.strip():
            yield number, line.rstrip(b"\r\n")
