"""Reads a file as an import does, and returns the results as lists."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from data.convert import Converted, convert
from data.detect import Detection, detect
from data.errors import UnusableFile
from data.files.streams import Limits
from data.plan import Plan, make_plan

Row = dict[str, Any]


class Kept:
    """Rows with their lines, in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.lines: list[int] = []
        self.answer_lines: list[int] = []

    def add(self, line: int, row: Row, answer_lines: Sequence[int]) -> None:
        self.lines.append(line)
        self.answer_lines += answer_lines
        self.rows.append(row)


@dataclass(frozen=True)
class Read:
    """The detection, plan and rows of a file."""

    detection: Detection
    plan: Plan
    rows: list[Row]
    lines: list[int]
    """The line of each row."""
    answer_lines: list[int]
    """The line of each answer, row after row, if each was a record."""
    converted: Converted

    @property
    def found(self) -> dict[str, list[int]]:
        """The lines of each finding, without those that only describe how the file was read."""
        told = {finding["code"]: finding["lines"] for finding in self.converted.findings}
        return {code: lines for code, lines in told.items() if code not in ("columns_ignored", "read_as")}

    def finding(self, code: str) -> dict[str, Any]:
        return next(finding for finding in self.converted.findings if finding["code"] == code)


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(
    content: bytes,
    name: str = "file.jsonl",
    *,
    limits: Limits | None = None,
    scratch: Path | None = None,
    encoding: str | None = None,
    **plan: Any,
) -> Read:
    """`plan` gives format, kind or mapping that are not to be detected."""
    within = limits or Limits()
    detection = detect(lambda: io.BytesIO(content), name, within, scratch, encoding)
    chosen, out = make_plan(detection, **plan), Kept()
    converted = convert(lambda: io.BytesIO(content), name, chosen, within, out, scratch=scratch)
    return Read(detection, chosen, out.rows, out.lines, out.answer_lines, converted)


def rows_of(*records: Row, **plan: Any) -> list[Row]:
    """The rows of records in JSON Lines."""
    return read(jsonl(*records), **plan).rows


def refusal(content: bytes, name: str = "file.jsonl", **options: Any) -> UnusableFile:
    """The error of a file that is refused as a whole, or for its first bad record."""
    with pytest.raises(UnusableFile) as refused:
        read(content, name, **options).converted.refuse()
    return refused.value


def errors(content: bytes, name: str = "file.jsonl", **options: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = refusal(content, name, **options).extras["errors"]
    return listed


def talk(*contents: str, system: str = "") -> list[dict[str, str]]:
    """Turns of the user and the assistant, in turn."""
    roles: Sequence[str] = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]
    return [{"role": "system", "content": system}, *said] if system else said
