"""The findings that there can be, in the code, on their page, and among the fixes."""

import re
from pathlib import Path

from data.report.findings import KINDS
from data.strips import strips

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "data-report.md"


def test_each_finding_is_explained_with_its_severity_and_fix() -> None:
    told: dict[str, tuple[str, str]] = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            told |= {code: (cells[1], cells[3].split()[0]) for code in re.findall(r"`(\w+)`", cells[0])}
    expected = {code: (kind.severity, kind.fix[0] if kind.fix else "\u2013") for code, kind in KINDS.items()}
    assert {code: (severity, fix.rstrip(":")) for code, (severity, fix) in told.items()} == expected


def test_each_strip_can_be_done() -> None:
    wanted = [code for code, kind in KINDS.items() if kind.fix and kind.fix[0] == "strip"]
    assert strips(wanted, ["<s>"]).keys() == set(wanted)
