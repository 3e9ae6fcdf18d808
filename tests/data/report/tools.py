"""Reports on a few rows, made as the command makes them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.report.settings import ReportSettings
from trainer.data_report import make

Row = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """A report, and the rows that its findings name."""

    result: dict[str, Any]
    folder: Path

    def rows(self, code: str) -> list[int]:
        """All that a finding names, from 1; none where it was not found."""
        file = self.folder / f"{code}.u64"
        return np.fromfile(file, "<u8").tolist() if file.exists() else []

    def finding(self, code: str) -> dict[str, Any]:
        return next(finding for finding in self.result["findings"] if finding["code"] == code)

    @property
    def codes(self) -> set[str]:
        return {finding["code"] for finding in self.result["findings"]}


def report(folder: Path, rows: Sequence[Row], processes: int = 1, **settings: Any) -> Made:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    wanted = ReportSettings.model_validate({"kind": "preferences"} | settings)
    found = make(path, wanted, folder / "rows", lambda fraction, note: None, processes)
    return Made(json.loads(json.dumps(found)), folder / "rows")


def pair(prompt: Any, a: str, b: str, label: str | None = "a", **notes: Any) -> Row:
    return {"prompt": prompt, "a": a, "b": b, "label": label, **notes}


def plain_pairs(count: int) -> list[Row]:
    """Pairs that nothing is wrong with, each with a prompt of its own; sides and lengths tell nothing."""
    return [
        pair(
            f"Where can I read more about {_TOPICS[n % 8]} and the year {1000 + n}, please?",
            f"The library has a shelf full of books about it, and number {7919 * n} is a good one.",
            f"My neighbour wrote an article for the newspaper, it was on page {104729 * n} I think.",
            "ab"[n % 2],
        )
        for n in range(1, count + 1)
    ]


_TOPICS = ("bread", "chess", "rivers", "tax law", "gardens", "trains", "poetry", "the moon")
